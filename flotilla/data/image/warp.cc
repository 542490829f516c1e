#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "flotilla/base/error.h"
#include "flotilla/data/image/geometry.h"

namespace flotilla::data {
namespace {

struct Place {
  double x = 0;
  double y = 0;
};

bool is_affine(const PlaneMap& map) { return map[6] == 0 && map[7] == 0; }

Place apply(const PlaneMap& m, double x, double y) {
  const Place at = {m[0] * x + m[1] * y + m[2], m[3] * x + m[4] * y + m[5]};
  if (is_affine(m)) return at;
  const double w = m[6] * x + m[7] * y + 1;
  return {at.x / w, at.y / w};
}

int64_t to_int(double x) {
  constexpr double kMost = std::numeric_limits<int32_t>::max();
  return std::isnan(x) ? 0 : std::llrint(std::clamp(x, -kMost, kMost));
}

template <typename T>
T round_to(double x) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return static_cast<uint8_t>(std::clamp(std::nearbyint(x), 0.0, 255.0));
  } else {
    return static_cast<T>(x);
  }
}

template <typename T>
T truncate_to(double x) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return static_cast<uint8_t>(std::clamp(x, 0.0, 255.0));
  } else {
    return static_cast<T>(x);
  }
}

// PIL: a pixel whose middle comes from outside the image is not written; neighbours beyond the edge
// are those at the edge.
template <typename T>
struct PilSampler {
  View<T> image;

  double at(int64_t y, int64_t x, int64_t c) const {
    return image.row(std::clamp<int64_t>(
        y, 0, image.height - 1))[std::clamp<int64_t>(x, 0, image.width - 1) * image.channels + c];
  }

  bool holds(Place p) const {
    return p.x >= 0 && p.x < static_cast<double>(image.width) && p.y >= 0 &&
           p.y < static_cast<double>(image.height);
  }

  void bilinear(Place p, T* into) const {
    const double fx = std::floor(p.x - 0.5), fy = std::floor(p.y - 0.5);
    const double dx = p.x - 0.5 - fx, dy = p.y - 0.5 - fy;
    const auto x = static_cast<int64_t>(fx), y = static_cast<int64_t>(fy);
    const auto across = [&](int64_t row, int64_t c) {
      const double a = at(row, x, c), b = at(row, x + 1, c);
      return a + (b - a) * dx;
    };
    for (int64_t c = 0; c < image.channels; ++c) {
      const double a = across(y, c), b = across(y + 1, c);
      into[c] = truncate_to<T>(a + (b - a) * dy);
    }
  }

  static double cubic(double a, double b, double c, double d, double t) {
    const double p2 = c - a, p3 = 2 * (a - b) + c - d, p4 = -a + b - c + d;
    return b + t * (p2 + t * (p3 + t * p4));
  }

  void bicubic(Place p, T* into) const {
    const double fx = std::floor(p.x - 0.5), fy = std::floor(p.y - 0.5);
    const double dx = p.x - 0.5 - fx, dy = p.y - 0.5 - fy;
    const auto x = static_cast<int64_t>(fx), y = static_cast<int64_t>(fy);
    for (int64_t c = 0; c < image.channels; ++c) {
      const auto across = [&](int64_t row) {
        return cubic(at(row, x - 1, c), at(row, x, c), at(row, x + 1, c), at(row, x + 2, c), dx);
      };
      into[c] = truncate_to<T>(cubic(across(y - 1), across(y), across(y + 1), across(y + 2), dy));
    }
  }
};

// OpenCV: places are counted in 32nds of a pixel; neighbours beyond the edge are the fill.
template <typename T>
struct Cv2Sampler {
  View<T> image;
  std::vector<T> fill;

  const T* pixel(int64_t y, int64_t x) const {
    const bool inside = 0 <= x && x < image.width && 0 <= y && y < image.height;
    return inside ? image.row(y) + x * image.channels : fill.data();
  }

  // (x, y) in 32nds.
  void bilinear(int64_t x, int64_t y, T* into) const {
    const int64_t fx = x & 31, fy = y & 31;
    const T* p[4] = {pixel(y >> 5, x >> 5), pixel(y >> 5, (x >> 5) + 1),
                     pixel((y >> 5) + 1, x >> 5), pixel((y >> 5) + 1, (x >> 5) + 1)};
    const int64_t w[4] = {(32 - fx) * (32 - fy), fx * (32 - fy), (32 - fx) * fy, fx * fy};
    for (int64_t c = 0; c < image.channels; ++c) {
      if constexpr (std::is_same_v<T, uint8_t>) {
        int64_t sum = 512;
        for (int k = 0; k < 4; ++k) sum += w[k] * p[k][c];
        into[c] = static_cast<uint8_t>(sum >> 10);
      } else {
        T sum = 0;
        for (int k = 0; k < 4; ++k) sum += static_cast<T>(w[k]) / 1024 * p[k][c];
        into[c] = sum;
      }
    }
  }

  static std::array<double, 4> cubic_weights(int64_t part) {
    constexpr double a = -0.75;
    const double t = static_cast<double>(part) / 32, u = t + 1, v = 1 - t;
    std::array<double, 4> w = {((a * u - 5 * a) * u + 8 * a) * u - 4 * a,
                               ((a + 2) * t - (a + 3)) * t * t + 1,
                               ((a + 2) * v - (a + 3)) * v * v + 1, 0};
    w[3] = 1 - w[0] - w[1] - w[2];
    return w;
  }

  void bicubic(int64_t x, int64_t y, T* into) const {
    const std::array<double, 4> wx = cubic_weights(x & 31), wy = cubic_weights(y & 31);
    for (int64_t c = 0; c < image.channels; ++c) {
      double sum = 0;
      for (int j = 0; j < 4; ++j) {
        for (int i = 0; i < 4; ++i) {
          sum += wy[j] * wx[i] * pixel((y >> 5) + j - 1, (x >> 5) + i - 1)[c];
        }
      }
      into[c] = round_to<T>(sum);
    }
  }
};

// Nearest neighbours of an affine map, which both libraries follow in whole numbers. Calls
// found(y, x, source y, source x).
template <typename Found>
void follow(const PlaneMap& m, int64_t height, int64_t width, Style style, const Found& found) {
  if (style == Style::kPil) {
    const auto fix = [](double x) { return static_cast<int64_t>(std::floor(x * 65536 + 0.5)); };
    const int64_t a0 = fix(m[0]), a1 = fix(m[1]), a3 = fix(m[3]), a4 = fix(m[4]);
    int64_t x0 = fix(m[2] + m[0] * 0.5 + m[1] * 0.5), y0 = fix(m[5] + m[3] * 0.5 + m[4] * 0.5);
    for (int64_t y = 0; y < height; ++y, x0 += a1, y0 += a4) {
      for (int64_t x = 0; x < width; ++x) found(y, x, (y0 + x * a3) >> 16, (x0 + x * a0) >> 16);
    }
    return;
  }
  for (int64_t y = 0; y < height; ++y) {
    const auto row = static_cast<double>(y);
    const int64_t x0 = to_int((m[1] * row + m[2]) * 1024) + 512;
    const int64_t y0 = to_int((m[4] * row + m[5]) * 1024) + 512;
    for (int64_t x = 0; x < width; ++x) {
      const auto col = static_cast<double>(x);
      found(y, x, (y0 + to_int(m[3] * col * 1024)) >> 10, (x0 + to_int(m[0] * col * 1024)) >> 10);
    }
  }
}

// Where pixel (x, y) comes from, in 32nds, as OpenCV rounds it.
std::pair<int64_t, int64_t> in_32nds(const PlaneMap& m, int64_t x, int64_t y) {
  const auto col = static_cast<double>(x), row = static_cast<double>(y);
  if (is_affine(m)) {
    const int64_t fx = to_int((m[1] * row + m[2]) * 1024) + 16 + to_int(m[0] * col * 1024);
    const int64_t fy = to_int((m[4] * row + m[5]) * 1024) + 16 + to_int(m[3] * col * 1024);
    return {fx >> 5, fy >> 5};
  }
  const double w = m[6] * col + m[7] * row + 1, scale = w == 0 ? 0 : 32 / w;
  return {to_int((m[0] * col + m[1] * row + m[2]) * scale),
          to_int((m[3] * col + m[4] * row + m[5]) * scale)};
}

template <typename T>
void warp_nearest(const View<T>& image, const PlaneMap& map, Style style, Pixels<T>& out) {
  const int64_t channels = image.channels;
  const auto copy = [&](int64_t y, int64_t x, int64_t from_y, int64_t from_x) {
    if (from_y < 0 || from_y >= image.height || from_x < 0 || from_x >= image.width) return;
    std::copy_n(image.row(from_y) + from_x * channels, channels, out.row(y) + x * channels);
  };
  if (is_affine(map)) return follow(map, out.height, out.width, style, copy);
  const double half = style == Style::kPil ? 0.5 : 0;
  for (int64_t y = 0; y < out.height; ++y) {
    for (int64_t x = 0; x < out.width; ++x) {
      const Place p = apply(map, static_cast<double>(x) + half, static_cast<double>(y) + half);
      if (style == Style::kCv2) {
        copy(y, x, to_int(p.y), to_int(p.x));
      } else {
        copy(y, x, to_int(std::floor(p.y)), to_int(std::floor(p.x)));
      }
    }
  }
}

template <typename T>
void warp_pil(const View<T>& image, const PlaneMap& map, bool bicubic, Pixels<T>& out) {
  const PilSampler<T> sampler{image};
  for (int64_t y = 0; y < out.height; ++y) {
    for (int64_t x = 0; x < out.width; ++x) {
      const Place p = apply(map, static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5);
      if (!sampler.holds(p)) continue;
      T* into = out.row(y) + x * image.channels;
      bicubic ? sampler.bicubic(p, into) : sampler.bilinear(p, into);
    }
  }
}

template <typename T>
void warp_cv2(const View<T>& image, const PlaneMap& map, bool bicubic, std::vector<T> fill,
              Pixels<T>& out) {
  const Cv2Sampler<T> sampler{image, std::move(fill)};
  for (int64_t y = 0; y < out.height; ++y) {
    for (int64_t x = 0; x < out.width; ++x) {
      const auto [fx, fy] = in_32nds(map, x, y);
      T* into = out.row(y) + x * image.channels;
      bicubic ? sampler.bicubic(fx, fy, into) : sampler.bilinear(fx, fy, into);
    }
  }
}

}  // namespace

template <typename T>
Pixels<T> warp(const View<T>& image, int64_t height, int64_t width, const PlaneMap& map,
               Interpolation interpolation, Style style, std::span<const double> fill) {
  require(image.height > 0 && image.width > 0 && height > 0 && width > 0,
          "an image of {} x {} cannot be turned into one of {} x {}", image.height, image.width,
          height, width);
  const int64_t channels = image.channels;
  require(fill.size() == 1 || static_cast<int64_t>(fill.size()) == channels,
          "a fill has one value or one for each of {} channels, but has {}", channels, fill.size());
  std::vector<T> color(channels);
  for (int64_t c = 0; c < channels; ++c) {
    color[c] = static_cast<T>(fill.size() == 1 ? fill[0] : fill[c]);
  }
  Pixels<T> out(height, width, channels);
  for (size_t i = 0; i < out.pixels.size(); ++i) out.pixels[i] = color[i % channels];
  if (interpolation == Interpolation::kNearest) {
    warp_nearest(image, map, style, out);
    return out;
  }
  const bool bicubic = interpolation == Interpolation::kBicubic;
  require(bicubic || interpolation == Interpolation::kBilinear,
          "a rotated image is interpolated with nearest, bilinear or bicubic");
  if (style == Style::kPil) {
    warp_pil(image, map, bicubic, out);
  } else {
    warp_cv2(image, map, bicubic, std::move(color), out);
  }
  return out;
}

template Image warp(const ImageView&, int64_t, int64_t, const PlaneMap&, Interpolation, Style,
                    std::span<const double>);
template Pixels<float> warp(const View<float>&, int64_t, int64_t, const PlaneMap&, Interpolation,
                            Style, std::span<const double>);
template Pixels<double> warp(const View<double>&, int64_t, int64_t, const PlaneMap&, Interpolation,
                             Style, std::span<const double>);

}  // namespace flotilla::data
