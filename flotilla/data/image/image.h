// flotilla/data/image/image.h
//
// An image: rows of pixels from top to bottom, the channels of a pixel side by side.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flotilla::data {

// Pixels that somebody else owns; T is uint8_t, float or double.
template <typename T>
struct View {
  const T* data = nullptr;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  int64_t stride = 0;  // elements from one row to the next

  const T* row(int64_t y) const { return data + y * stride; }
  int64_t size() const { return height * width * channels; }

  // The rectangle that begins at (top, left).
  // REQUIRES: it lies inside the image
  View crop(int64_t top, int64_t left, int64_t rows, int64_t cols) const {
    return {data + top * stride + left * channels, rows, cols, channels, stride};
  }
};

// Invariant: pixels.size() == height * width * channels.
template <typename T>
struct Pixels {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  std::vector<T> pixels = {};

  Pixels() = default;
  Pixels(int64_t height, int64_t width, int64_t channels)
      : height(height), width(width), channels(channels), pixels(height * width * channels) {}

  View<T> view() const { return {pixels.data(), height, width, channels, width * channels}; }
  T* row(int64_t y) { return pixels.data() + y * width * channels; }

  bool operator==(const Pixels&) const = default;
};

// 1 channel: grey; 2: grey and alpha; 3: red, green, blue; 4: and alpha.
using Image = Pixels<uint8_t>;
using ImageView = View<uint8_t>;

}  // namespace flotilla::data
