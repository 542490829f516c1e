// flotilla/comm/reduce.h
//
// What an all-reduce computes: elements of several ranks, combined in the order of ranks.

#pragma once

#include <cstdint>
#include <span>

#include "flotilla/comm/group.h"

namespace flotilla::comm {

// Refuses a type that nothing here adds up.
void check_reducible(DType dtype);

// outs[*][i] = ins[0][i] + ins[1][i] + …, for `count` elements; kAverage divides by `ranks` at the
// end. Sums of bf16 are rounded once. An out may be one of the ins; no others overlap.
void combine(std::span<const void* const> ins, std::span<void* const> outs, int64_t count,
             DType dtype, Reduce how, int ranks);

}  // namespace flotilla::comm
