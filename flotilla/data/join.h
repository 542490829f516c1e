// flotilla/data/join.h
//
// The batches of several places as one: a process is one place, and training on the joined batch is
// what training on the parts with averaged gradients is.

#pragma once

#include <span>

#include "flotilla/tensor/tensor.h"

namespace flotilla::data {

// The rows of all parts, one behind the other, with their sequences. Refuses parts that differ in
// dtype, in an extent but the first, or in LoD levels. REQUIRES: one part or more
Tensor join_rows(std::span<const Tensor> parts);

}  // namespace flotilla::data
