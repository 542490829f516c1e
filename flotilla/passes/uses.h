// flotilla/passes/uses.h
//
// Who touches which variable of a block, and what may be put together: the questions that fusions
// ask before they change anything.

#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/ir/program.h"
#include "flotilla/passes/pass.h"

namespace flotilla::passes {

using Names = std::set<std::string, std::less<>>;

// What an op reads and writes. Ops with a sub-block touch all that the ops inside name.
struct Touched {
  explicit Touched(const Op& op);

  // Whether this op and one that stands before it must keep their order.
  bool depends_on(const Touched& earlier) const;

  Names reads = {};
  Names writes = {};
};

// REQUIRES: the block does not change while it is asked.
class Uses {
 public:
  Uses(const Block& block, const PassContext& context);

  const Block& block() const { return block_; }
  // Positions, ascending.
  const std::vector<size_t>& readers(std::string_view var) const;
  const std::vector<size_t>& writers(std::string_view var) const;
  // The position of the only op that reads the variable's elements; nothing where there are more or
  // none. Readers of its shape do not count.
  std::optional<size_t> only_reader(std::string_view var) const;
  // Nobody but ops of the block sees the variable, and it is written once: its name is one value.
  bool is_temporary(std::string_view var) const;
  // Some op other than those at `positions` asks for its shape.
  bool is_measured(std::string_view var, std::span<const size_t> positions) const;
  // Whether the ops at `positions` (ascending) may all run where the last of them stands.
  bool may_sink(std::span<const size_t> positions) const;
  // Whether they may all run where the first of them stands.
  bool may_rise(std::span<const size_t> positions) const;

 private:
  struct Readers {
    std::vector<size_t> all = {};
    std::vector<size_t> of_elements = {};
  };

  const Block& block_;
  const PassContext& context_;
  std::vector<Touched> touched_;
  std::map<std::string, Readers, std::less<>> readers_;
  std::map<std::string, std::vector<size_t>, std::less<>> writers_;
};

// Ops, and the one that takes their place where the last or the first of them stood.
struct Fusion {
  enum Where { kLast, kFirst };

  std::vector<size_t> positions = {};  // ascending
  Op op = {};
  Where where = kLast;

  // The op will stand in front of the one that stands here now.
  size_t target() const { return where == kFirst ? positions.front() : positions.back() + 1; }
};

// REQUIRES: no position belongs to two fusions.
void apply(Block& block, std::vector<Fusion> fusions);

// What a fused op keeps of the first op it stands for: role, the user's line, scope, device.
Attrs marks_of(const Op& op);

}  // namespace flotilla::passes
