// flotilla/layers/by_rule.h
//
// Numbers that follow from a name alone, so that two programs in two languages start from the same
// parameters and see the same data. The i-th number of a key is a hash of both: no stream, no seed.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "flotilla/base/shape.h"

namespace flotilla::layers {

// Multiples of 2^-24 from [0, 1), scaled to [low, high).
std::vector<float> uniform_by_rule(std::string_view key, int64_t count, double low, double high);
// Whole numbers from [low, high).
std::vector<int64_t> integers_by_rule(std::string_view key, int64_t count, int64_t low,
                                      int64_t high);
// The first value of a parameter: matrices and filters as Xavier would scale them, scales of a
// normalisation (<layer>.w_0 or <...>_scale of rank 1) near one, biases near zero.
std::vector<float> parameter_by_rule(std::string_view name, const Shape& shape);

}  // namespace flotilla::layers
