// flotilla/runtime/same_parameters.h
//
// Ranks that start from the same values and apply the same gradients hold the same bits at all
// times. This looks whether they do: where training begins and where a pass over the data ends,
// when all of them are there anyway.

#pragma once

#include <string>
#include <vector>

#include "flotilla/comm/world.h"
#include "flotilla/ir/program.h"
#include "flotilla/runtime/scope.h"

namespace flotilla {

// FLT_COMPARE_PARAMETERS; on by default.
bool compares_parameters();

// The parameters whose gradients the ranks exchange, in the order of names.
std::vector<std::string> exchanged_parameters(const Program& program);

// Refuses, on all ranks, parameters that differ between them: names the first one, and who has
// other values than rank 0. All ranks call it. Costs a checksum of the parameters (some 10 ms for
// 100 MB) and one small exchange; nothing where compares_parameters() is false.
void compare_parameters(comm::World& world, const std::vector<std::string>& names, Scope& scope);

}  // namespace flotilla
