#include "flotilla/data/image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "flotilla/base/error.h"
#include "flotilla/data/image/passes.h"

namespace flotilla::data {
namespace {

bool whole(int64_t from, int64_t to) { return from % to == 0; }

template <typename T>
Pixels<T> resize_nearest(const View<T>& image, int64_t height, int64_t width, Style style,
                         const Window& window) {
  const std::vector<int32_t> ys = nearest_sources(image.height, height, style);
  const std::vector<int32_t> xs = nearest_sources(image.width, width, style);
  Pixels<T> out(window.height, window.width, image.channels);
  const int64_t channels = image.channels;
  for (int64_t y = 0; y < window.height; ++y) {
    const T* in = image.row(ys[window.top + y]);
    T* into = out.row(y);
    for (int64_t x = 0; x < window.width; ++x) {
      const T* pixel = in + xs[window.left + x] * channels;
      for (int64_t c = 0; c < channels; ++c) *into++ = pixel[c];
    }
  }
  return out;
}

// The mean of blocks that divide the image evenly; OpenCV rounds the one of four pixels up.
Image resize_blocks(const ImageView& image, int64_t height, int64_t width, const Window& window) {
  const int64_t high = image.height / height, wide = image.width / width;
  const float scale = 1.f / static_cast<float>(high * wide);
  const bool four = high == 2 && wide == 2;
  Image out(window.height, window.width, image.channels);
  const int64_t channels = image.channels;
  for (int64_t y = 0; y < window.height; ++y) {
    uint8_t* into = out.row(y);
    for (int64_t x = 0; x < window.width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        int sum = 0;
        for (int64_t j = 0; j < high; ++j) {
          const uint8_t* in =
              image.row((window.top + y) * high + j) + (window.left + x) * wide * channels + c;
          for (int64_t i = 0; i < wide; ++i) sum += in[i * channels];
        }
        *into++ = four ? static_cast<uint8_t>((sum + 2) >> 2)
                       : static_cast<uint8_t>(std::lrint(static_cast<float>(sum) * scale));
      }
    }
  }
  return out;
}

void cut(Taps& taps, int64_t begin, int64_t count) {
  const auto slice = [](auto& values, int64_t from, int64_t n) {
    values.erase(values.begin() + from + n, values.end());
    values.erase(values.begin(), values.begin() + from);
  };
  slice(taps.start, begin, count);
  slice(taps.count, begin, count);
  slice(taps.weight, begin * taps.most, count * taps.most);
}

// Area means need both sides to shrink; otherwise OpenCV interpolates, in its own way.
std::pair<Taps, Taps> taps_of(int64_t from_height, int64_t from_width, int64_t height,
                              int64_t width, Interpolation interpolation, Style style) {
  const bool grows = from_height < height || from_width < width;
  if (style == Style::kCv2 && interpolation == Interpolation::kArea && grows) {
    return {make_spread_taps(from_height, height), make_spread_taps(from_width, width)};
  }
  return {make_taps(from_height, height, interpolation, style, true),
          make_taps(from_width, width, interpolation, style, false)};
}

}  // namespace

template <typename T>
Pixels<T> resize(const View<T>& image, int64_t height, int64_t width, Interpolation interpolation,
                 Style style, const Window& window) {
  require(image.height > 0 && image.width > 0 && height > 0 && width > 0,
          "resize needs one pixel or more, but was asked to make {} x {} of {} x {}", height, width,
          image.height, image.width);
  invariant(window.top >= 0 && window.left >= 0 && window.top + window.height <= height &&
                window.left + window.width <= width,
            "a window of {} x {} at ({}, {}) does not lie in {} x {}", window.height, window.width,
            window.top, window.left, height, width);
  if (interpolation == Interpolation::kNearest) {
    return resize_nearest(image, height, width, style, window);
  }
  if constexpr (std::is_same_v<T, uint8_t>) {
    const bool halves = image.height == 2 * height && image.width == 2 * width;
    const bool blocks = interpolation == Interpolation::kArea && whole(image.height, height) &&
                        whole(image.width, width);
    if (style == Style::kCv2 && (blocks || (halves && interpolation == Interpolation::kBilinear))) {
      return resize_blocks(image, height, width, window);
    }
  }
  auto [down, across] = taps_of(image.height, image.width, height, width, interpolation, style);
  cut(down, window.top, window.height);
  cut(across, window.left, window.width);
  if constexpr (std::is_same_v<T, uint8_t>) {
    if (style == Style::kPil) return passes::antialias(image, down, across);
    const bool shrinks = image.height >= height && image.width >= width;
    if (interpolation != Interpolation::kArea || !shrinks) {
      return passes::interpolate(image, down, across);
    }
  }
  return passes::in_floats(image, down, across);
}

template <typename T>
Pixels<T> resize(const View<T>& image, int64_t height, int64_t width, Interpolation interpolation,
                 Style style) {
  return resize(image, height, width, interpolation, style,
                {.top = 0, .left = 0, .height = height, .width = width});
}

std::pair<int64_t, int64_t> resized_extents(int64_t height, int64_t width, int64_t size) {
  if ((width <= height && width == size) || (height <= width && height == size)) {
    return {height, width};
  }
  const auto other = [size](int64_t longer, int64_t shorter) {
    return static_cast<int64_t>(static_cast<double>(size * longer) / static_cast<double>(shorter));
  };
  if (width < height) return {other(height, width), size};
  return {size, other(width, height)};
}

template Image resize(const ImageView&, int64_t, int64_t, Interpolation, Style, const Window&);
template Pixels<float> resize(const View<float>&, int64_t, int64_t, Interpolation, Style,
                              const Window&);
template Pixels<double> resize(const View<double>&, int64_t, int64_t, Interpolation, Style,
                               const Window&);
template Image resize(const ImageView&, int64_t, int64_t, Interpolation, Style);
template Pixels<float> resize(const View<float>&, int64_t, int64_t, Interpolation, Style);
template Pixels<double> resize(const View<double>&, int64_t, int64_t, Interpolation, Style);

}  // namespace flotilla::data
