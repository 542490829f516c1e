// flotilla/data/digit_strokes.h
//
// How people write the digits: for each digit a few styles, for each style the strokes of the pen.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flotilla::data {

// A point that the pen passes. A style fills about 100 x 100; x grows to the right, y downwards.
// The pen goes through a knot smoothly, or turns there at once if it is a corner.
struct Knot {
  int8_t x = 0;
  int8_t y = 0;
  bool corner = false;
};

using Stroke = std::vector<Knot>;        // at least two knots
using DigitStyle = std::vector<Stroke>;  // at least one stroke

// The styles of `digit`.
// REQUIRES: 0 <= digit <= 9
std::span<const DigitStyle> styles_of(int digit);

}  // namespace flotilla::data
