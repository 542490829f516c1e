// flotilla/passes/periodic.h
//
// Ops that run in some steps only.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/ir/program.h"

namespace flotilla::passes {

struct Period {
  std::string name = {};  // of what happens; part of the names of variables
  int64_t steps = 1;      // happens in steps <steps>, 2 * <steps>, ...
  int64_t until = 0;      // and in every step up to this one; steps count from 1
  int32_t role = 0;       // of the ops that decide
};

// Makes a block of `body` and runs it by a conditional_block in front of the op at `position` of
// the global block. `startup` sets the counter of steps, <name>_step, to zero.
Block& insert_periodic(Program& main, Program& startup, size_t position, const Period& period,
                       std::vector<Op> body);

// Adds a persistable tensor to both programs, which `startup` fills with zeros.
Var& add_zeros(Program& main, Program& startup, const std::string& name, DType dtype,
               const Shape& shape);

}  // namespace flotilla::passes
