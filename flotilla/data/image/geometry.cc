#include "flotilla/data/image/geometry.h"

#include <algorithm>
#include <cstring>

#include "flotilla/base/error.h"

namespace flotilla::data {
namespace {

// The element of [0, n) that stands for element i, which may lie outside; -1: the fill.
int64_t source_of(int64_t i, int64_t n, Border border) {
  if (0 <= i && i < n) return i;
  switch (border) {
    case Border::kConstant:
      return -1;
    case Border::kEdge:
      return std::clamp<int64_t>(i, 0, n - 1);
    case Border::kReflect: {
      if (n == 1) return 0;
      const int64_t period = 2 * (n - 1);
      const int64_t j = ((i % period) + period) % period;
      return j < n ? j : period - j;
    }
    case Border::kSymmetric: {
      const int64_t period = 2 * n;
      const int64_t j = ((i % period) + period) % period;
      return j < n ? j : period - 1 - j;
    }
  }
  return -1;
}

template <typename T>
void flip_row(const T* in, int64_t width, int64_t channels, T* into) {
  const T* from = in + (width - 1) * channels;
  for (int64_t x = 0; x < width; ++x) {
    for (int64_t c = 0; c < channels; ++c) *into++ = from[c];
    from -= channels;
  }
}

}  // namespace

template <typename T>
Pixels<T> crop(const View<T>& image, int64_t top, int64_t left, int64_t height, int64_t width) {
  require(top >= 0 && left >= 0 && height >= 0 && width >= 0 && top + height <= image.height &&
              left + width <= image.width,
          "a crop of {} x {} at row {}, column {} does not lie inside an image of {} x {}", height,
          width, top, left, image.height, image.width);
  const View<T> part = image.crop(top, left, height, width);
  Pixels<T> out(height, width, image.channels);
  for (int64_t y = 0; y < height; ++y) {
    std::memcpy(out.row(y), part.row(y), width * image.channels * sizeof(T));
  }
  return out;
}

template <typename T>
Pixels<T> flip(const View<T>& image, Axis axis) {
  Pixels<T> out(image.height, image.width, image.channels);
  for (int64_t y = 0; y < image.height; ++y) {
    if (axis == Axis::kHorizontal) {
      flip_row(image.row(y), image.width, image.channels, out.row(y));
    } else {
      std::memcpy(out.row(image.height - 1 - y), image.row(y),
                  image.width * image.channels * sizeof(T));
    }
  }
  return out;
}

template <typename T>
Pixels<T> transposed(const View<T>& image) {
  Pixels<T> out(image.width, image.height, image.channels);
  for (int64_t y = 0; y < image.height; ++y) {
    for (int64_t x = 0; x < image.width; ++x) {
      std::copy_n(image.row(y) + x * image.channels, image.channels,
                  out.row(x) + y * image.channels);
    }
  }
  return out;
}

template <typename T>
Pixels<T> pad(const View<T>& image, const Margins& margins, Border border,
              std::span<const double> fill) {
  require(margins.left >= 0 && margins.top >= 0 && margins.right >= 0 && margins.bottom >= 0,
          "padding must not be negative, but is left {}, top {}, right {}, bottom {}", margins.left,
          margins.top, margins.right, margins.bottom);
  require(border == Border::kConstant || (image.height > 0 && image.width > 0),
          "an image of {} x {} has no edge to repeat", image.height, image.width);
  const int64_t channels = image.channels;
  require(fill.size() == 1 || static_cast<int64_t>(fill.size()) == channels,
          "a fill has one value or one for each of {} channels, but has {}", channels, fill.size());
  Pixels<T> out(image.height + margins.top + margins.bottom,
                image.width + margins.left + margins.right, channels);
  std::vector<T> color(channels);
  for (int64_t c = 0; c < channels; ++c) {
    color[c] = static_cast<T>(fill.size() == 1 ? fill[0] : fill[c]);
  }
  for (int64_t y = 0; y < out.height; ++y) {
    const int64_t from_y = source_of(y - margins.top, image.height, border);
    T* into = out.row(y);
    for (int64_t x = 0; x < out.width; ++x) {
      const int64_t from_x = source_of(x - margins.left, image.width, border);
      const bool inside = from_y >= 0 && from_x >= 0;
      const T* pixel = inside ? image.row(from_y) + from_x * channels : color.data();
      for (int64_t c = 0; c < channels; ++c) *into++ = pixel[c];
    }
  }
  return out;
}

template Image crop(const ImageView&, int64_t, int64_t, int64_t, int64_t);
template Pixels<float> crop(const View<float>&, int64_t, int64_t, int64_t, int64_t);
template Pixels<double> crop(const View<double>&, int64_t, int64_t, int64_t, int64_t);
template Image flip(const ImageView&, Axis);
template Pixels<float> flip(const View<float>&, Axis);
template Pixels<double> flip(const View<double>&, Axis);
template Image transposed(const ImageView&);
template Pixels<float> transposed(const View<float>&);
template Pixels<double> transposed(const View<double>&);
template Image pad(const ImageView&, const Margins&, Border, std::span<const double>);
template Pixels<float> pad(const View<float>&, const Margins&, Border, std::span<const double>);
template Pixels<double> pad(const View<double>&, const Margins&, Border, std::span<const double>);

}  // namespace flotilla::data
