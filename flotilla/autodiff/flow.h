// flotilla/autodiff/flow.h
//
// What the reverse walk must know before it starts, found by one walk forward: into which uses of
// variables a gradient flows, and which version of a variable each op saw.

#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/ir/program.h"
#include "flotilla/op/op_def.h"

namespace flotilla::autodiff {

using Names = std::set<std::string, std::less<>>;

struct Wanted {
  std::optional<Names> vars = {};  // nothing: all inputs that are not marked stop_gradient
  Names constants = {};
};

// One op as the walk sees it.
struct OpFlow {
  const OpDef* def = nullptr;  // null: not defined here
  bool skipped = false;        // of the optimizer, the schedule: no part of the loss
  bool needed = false;         // a gradient flows into one of its inputs
  // For each variable of each input slot: whether a gradient flows into it.
  std::map<std::string, std::vector<bool>, std::less<>> inputs = {};
};

class Flow {
 public:
  // `leaves`: variables outside the block into which gradients flow as well.
  Flow(const Block& block, const Wanted& wanted, const Names& leaves = {});

  const OpFlow& op(size_t position) const { return ops_[position]; }
  // Whether a gradient may flow into a variable at all.
  static bool may_need(const Block& block, const std::string& var, const Wanted& wanted);
  // Whether the last version of a variable depends on what is wanted.
  bool needs(std::string_view var) const;
  // The position of the first op after `position`, itself included where `before` it, that
  // overwrites what the op at `position` saw; nothing where it is still there at the end.
  std::optional<size_t> overwritten(std::string_view var, size_t position, bool before) const;

 private:
  OpFlow flow_of(const Block& block, const Op& op, const Wanted& wanted);

  std::vector<OpFlow> ops_;
  std::map<std::string, bool, std::less<>> needs_;  // of the version that is current
  std::map<std::string, std::vector<size_t>, std::less<>> writers_;
};

}  // namespace flotilla::autodiff
