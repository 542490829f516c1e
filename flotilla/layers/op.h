// flotilla/layers/op.h
//
// One op of any type, with fresh variables for what it writes. Whatever is a single op needs no
// function of its own in C++:
//
//   Variable y = op("softmax", {{"X", x}}, {{"axis", -1}});

#pragma once

#include <map>
#include <string>
#include <vector>

#include "flotilla/layers/helper.h"
#include "flotilla/layers/variable.h"

namespace flotilla::layers {

using Inputs = std::map<std::string, Variables>;

struct OutSlot {
  OutSlot(std::string slot, int64_t count = 1) : slot(std::move(slot)), count(count) {}
  OutSlot(const char* slot) : OutSlot(std::string(slot)) {}
  std::string slot;
  int64_t count;
};

struct OpOptions {
  // The user's name for the call: its variables are <name>.tmp_<n>. Empty: <layer>_<n>, where
  // `layer` is the op's type unless given.
  std::string name = {};
  std::string layer = {};

  // The first variable it writes is called exactly this; one that exists is written again.
  std::string out = {};

  // Appended on the first variable it writes.
  std::string act = {};

  // The slots to make variables for, in the order of their names. By default those that the op
  // cannot do without, in the order of its definition.
  std::vector<OutSlot> outputs = {};

  // No gradient flows back through what it writes.
  bool stop_gradient = false;
};

// The first variable that the op writes, after the activation.
Variable op(const std::string& type, const Inputs& inputs, Attrs attrs = {},
            const OpOptions& options = {});
// All of them, slot by slot; the activation is on the first.
Variables op_outputs(const std::string& type, const Inputs& inputs, Attrs attrs = {},
                     const OpOptions& options = {});

// A shape that may hold variables, as reshape, full and expand take it: the extents that are known
// (-1 where a variable stands), and, if there is one, all extents as variables for the op's slot of
// shape tensors.
struct ShapeArgument {
  std::vector<int64_t> extents = {};
  Variables tensors = {};
};
ShapeArgument shape_argument(const std::vector<Operand>& extents);

}  // namespace flotilla::layers
