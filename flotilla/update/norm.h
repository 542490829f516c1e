// flotilla/update/norm.h
//
// What the layer-wise rules (LARS, LAMB) need to know of a whole tensor.

#pragma once

#include <span>

namespace flotilla::update {

// The sum of the squares, added up in double in an order that depends on the length alone.
double sum_of_squares(std::span<const float> values);
double sum_of_squares(std::span<const double> values);

}  // namespace flotilla::update
