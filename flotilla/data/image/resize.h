// flotilla/data/image/resize.h
//
// Resizing, to the last bit or nearly so as PIL or OpenCV do it.
//
//           kPil                                 kCv2
// scaling   a pixel of the result is the mean    of the same 2, 4 or 8 neighbours at any scale;
// down      of all that fall on it               kArea alone takes the mean of all
// kBicubic  a = -0.5                             a = -0.75
// kLanczos  6 neighbours                         8 neighbours
// uint8_t   across, round, down, round;          across, down, round once;
//           equal to PIL in every bit (PIL 13    equal to OpenCV for kNearest, kBilinear and kArea,
//           goes down first for some sizes)      within 1 for the others

#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/data/image/image.h"

namespace flotilla::data {

enum class Style { kPil, kCv2 };

enum class Interpolation { kNearest, kBilinear, kBicubic, kArea, kLanczos, kHamming };

// What part of the resized image is wanted.
struct Window {
  int64_t top = 0;
  int64_t left = 0;
  int64_t height = 0;
  int64_t width = 0;
};

// REQUIRES: height and width are at least 1, and so are the image's
template <typename T>
Pixels<T> resize(const View<T>& image, int64_t height, int64_t width, Interpolation interpolation,
                 Style style);

// The same, of which only `window` is computed: to resize and to crop in one.
// REQUIRES: the window lies inside height x width
template <typename T>
Pixels<T> resize(const View<T>& image, int64_t height, int64_t width, Interpolation interpolation,
                 Style style, const Window& window);

// The sizes that Paddle's Resize(size) gives an image: the shorter side becomes `size`.
std::pair<int64_t, int64_t> resized_extents(int64_t height, int64_t width, int64_t size);

// How an extent of `from` elements becomes one of `to`: element i of the result is the sum over k <
// most of weight[i * most + k] times element start[i] + min(k, count[i] - 1). Borders are inside
// the weights, save that OpenCV's rows, when it interpolates between two, round the two parts of a
// row at the edge one by one: then the second weight is there, and no second row.
struct Taps {
  int64_t most = 0;
  std::vector<int32_t> start = {};
  std::vector<int32_t> count = {};
  std::vector<double> weight = {};
};

// `rows`: these are rows, not columns. REQUIRES: not kNearest
Taps make_taps(int64_t from, int64_t to, Interpolation interpolation, Style style, bool rows);

// kNearest: element i of the result is element source[i].
std::vector<int32_t> nearest_sources(int64_t from, int64_t to, Style style);

}  // namespace flotilla::data
