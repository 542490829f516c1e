// flotilla/data/image/passes.h
//
// The two passes of a resize, across and down, in the arithmetic of each style. `down` and `across`
// say what each row and column of the result is made of.

#pragma once

#include "flotilla/data/image/resize.h"

namespace flotilla::data {

// OpenCV's kArea where a side grows.
Taps make_spread_taps(int64_t from, int64_t to);

namespace passes {

// PIL: weights of 22 bits; each pass rounds to a byte.
Image antialias(const ImageView& image, const Taps& down, const Taps& across);

// OpenCV: weights of 11 bits; rounds after the second pass.
Image interpolate(const ImageView& image, const Taps& down, const Taps& across);

// Single precision (double for double), rounded to even for bytes.
template <typename T>
Pixels<T> in_floats(const View<T>& image, const Taps& down, const Taps& across);

}  // namespace passes
}  // namespace flotilla::data
