// flotilla/op/build.h
//
// Appending an operator to a block: the one door through which layers, autodiff and passes go.

#pragma once

#include <string>

#include "flotilla/ir/program.h"
#include "flotilla/op/infer.h"
#include "flotilla/op/op_def.h"

namespace flotilla {

// Checks slots and attributes against the definition, converts attributes to their kinds, makes
// output variables that do not exist, infers their shapes and dtypes, and marks the op with the
// program's build state. Errors carry the op and the user's line. The block is unchanged then.
Op& append_op(Block& block, std::string type, Slots inputs, Slots outputs, Attrs attrs = {});
// The same in front of the op at `position`.
Op& insert_op(Block& block, size_t position, std::string type, Slots inputs, Slots outputs,
              Attrs attrs = {});

// Runs `infer` on what the block knows and writes the outputs' descriptions.
void infer_op(Block& block, const Op& op, const OpDef& def);

// Adds `op` (the text of one) and `from` (the user's line) to an error that passes through.
void note_op(Error& error, const Op& op);

// Marks every op appended while it lives with a role.
class RoleGuard {
 public:
  RoleGuard(Program& program, int32_t role, std::vector<std::string> role_var = {});
  ~RoleGuard();
  RoleGuard(const RoleGuard&) = delete;
  RoleGuard& operator=(const RoleGuard&) = delete;

 private:
  BuildState& build_;
  int32_t role_;
  std::vector<std::string> role_var_;
};

}  // namespace flotilla
