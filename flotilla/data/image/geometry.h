// flotilla/data/image/geometry.h
//
// Where pixels go: flips, borders, rotations and other maps of the plane. For uint8_t, float and
// double.

#pragma once

#include <array>
#include <span>

#include "flotilla/data/image/image.h"
#include "flotilla/data/image/resize.h"

namespace flotilla::data {

enum class Axis { kHorizontal, kVertical };

template <typename T>
Pixels<T> crop(const View<T>& image, int64_t top, int64_t left, int64_t height, int64_t width);

// kHorizontal: left and right change places.
template <typename T>
Pixels<T> flip(const View<T>& image, Axis axis);

// Rows become columns.
template <typename T>
Pixels<T> transposed(const View<T>& image);

enum class Border {
  kConstant,
  kEdge,       // aaa abcd ddd
  kReflect,    // dcb abcd cba
  kSymmetric,  // cba abcd dcb
};

struct Margins {
  int64_t left = 0;
  int64_t top = 0;
  int64_t right = 0;
  int64_t bottom = 0;
};

// `fill` has a value for each channel, or one for all; used by kConstant alone.
// REQUIRES: margins are not negative; for kReflect they are smaller than the image
template <typename T>
Pixels<T> pad(const View<T>& image, const Margins& margins, Border border,
              std::span<const double> fill);

// Where the pixel (x, y) of the result comes from: ((m0 x + m1 y + m2) / w, (m3 x + m4 y + m5) / w)
// with w = m6 x + m7 y + 1.
using PlaneMap = std::array<double, 8>;

// `style` says where a pixel's middle is: at its corner plus a half (kPil), or at its corner
// (kCv2). What comes from outside the image is `fill`, blended at the edge with kCv2.
// REQUIRES: kNearest, kBilinear or kBicubic
template <typename T>
Pixels<T> warp(const View<T>& image, int64_t height, int64_t width, const PlaneMap& map,
               Interpolation interpolation, Style style, std::span<const double> fill);

}  // namespace flotilla::data
