// flotilla/passes/gradients.h
//
// Where the gradients are that a block's updates use.

#pragma once

#include <map>
#include <string>

#include "flotilla/ir/program.h"
#include "flotilla/passes/uses.h"

namespace flotilla::passes {

inline bool has_role(const Op& op, int32_t role) { return (op.role() & role) != 0; }

// The parameters that ops of the block update.
Names updated_params(const Block& block);

// The gradients that backward ops of the block make for its updates, and the position of the op
// that finishes each.
std::map<std::string, size_t> find_gradients(const Block& block);

}  // namespace flotilla::passes
