// Which elements a resized element is made of. With scale = from / to, element i of the result has
// its middle at (i + 0.5) scale in the source, whose element j covers [j, j + 1).

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "flotilla/base/error.h"
#include "flotilla/data/image/resize.h"

namespace flotilla::data {
namespace {

double sinc(double x) {
  if (x == 0) return 1;
  const double t = x * std::numbers::pi;
  return std::sin(t) / t;
}

// Keys' cubic: 1 at 0, 0 at the other whole numbers, 0 from 2 on.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

// A function that is zero outside of [-support, support].
struct Filter {
  double support = 0;
  double (*at)(double) = nullptr;
};

Filter filter_of(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::kArea:
      return {0.5, [](double x) { return -0.5 < x && x <= 0.5 ? 1.0 : 0.0; }};
    case Interpolation::kBilinear:
      return {1, [](double x) { return std::max(0.0, 1 - std::abs(x)); }};
    case Interpolation::kHamming:
      return {1, [](double x) {
                x = std::abs(x);
                if (x >= 1) return 0.0;
                return sinc(x) * (0.54 + 0.46 * std::cos(x * std::numbers::pi));
              }};
    case Interpolation::kBicubic:
      return {2, [](double x) { return cubic(x, -0.5); }};
    case Interpolation::kLanczos:
      return {3, [](double x) { return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0.0; }};
    case Interpolation::kNearest:
      break;
  }
  invariant(false, "interpolation {} has no filter", static_cast<int>(interpolation));
  return {};
}

Taps make(int64_t to, int64_t most) {
  return {.most = most,
          .start = std::vector<int32_t>(to),
          .count = std::vector<int32_t>(to),
          .weight = std::vector<double>(to * most)};
}

// The filter is stretched to cover all that falls on a smaller result.
Taps antialiased(int64_t from, int64_t to, const Filter& filter) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(scale, 1.0);
  const double support = filter.support * stretch;
  Taps taps = make(to, std::min<int64_t>(from, static_cast<int64_t>(std::ceil(support)) * 2 + 1));
  for (int64_t i = 0; i < to; ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * scale;
    const auto begin = std::max<int64_t>(0, static_cast<int64_t>(middle - support + 0.5));
    const auto end = std::min<int64_t>(from, static_cast<int64_t>(middle + support + 0.5));
    double* weight = taps.weight.data() + i * taps.most;
    double sum = 0;
    for (int64_t j = begin; j < end; ++j) {
      weight[j - begin] = filter.at((static_cast<double>(j) - middle + 0.5) * (1 / stretch));
      sum += weight[j - begin];
    }
    for (int64_t j = begin; j < end && sum != 0; ++j) weight[j - begin] *= 1 / sum;
    taps.start[i] = static_cast<int32_t>(begin);
    taps.count[i] = static_cast<int32_t>(end - begin);
  }
  return taps;
}

// The weights of the neighbours of a place `x` in [0, 1) between two of them.
using Neighbours = void (*)(float x, double* weight);

void linear_neighbours(float x, double* weight) {
  weight[0] = 1.f - x;
  weight[1] = x;
}

void cubic_neighbours(float x, double* weight) {
  for (int k = 0; k < 3; ++k) weight[k] = static_cast<float>(cubic(x + 1 - k, -0.75));
  weight[3] = 1 - weight[0] - weight[1] - weight[2];
}

void lanczos_neighbours(float x, double* weight) {
  double sum = 0;
  for (int k = 0; k < 8; ++k) {
    const double distance = x + 3 - k;
    weight[k] = sinc(distance) * sinc(distance / 4);
    sum += weight[k];
  }
  for (int k = 0; k < 8; ++k) weight[k] /= sum;
}

// The taps of element i: `n` of them from `first` on, of which those outside are the edge's.
void add_clamped(Taps& taps, int64_t i, int64_t from, int64_t first, int n, const double* weight) {
  const int64_t begin = std::clamp<int64_t>(first, 0, from - 1);
  const int64_t last = std::clamp<int64_t>(first + n - 1, 0, from - 1);
  double* into = taps.weight.data() + i * taps.most;
  for (int k = 0; k < n; ++k)
    into[std::clamp<int64_t>(first + k, 0, from - 1) - begin] += weight[k];
  taps.start[i] = static_cast<int32_t>(begin);
  taps.count[i] = static_cast<int32_t>(last - begin + 1);
}

// The same number of neighbours at any scale. What lies outside is the element at the edge.
Taps between_neighbours(int64_t from, int64_t to, int n, Neighbours neighbours, bool rows) {
  const double scale = 1 / (static_cast<double>(to) / static_cast<double>(from));
  Taps taps = make(to, n);
  std::vector<double> weight(n);
  for (int64_t i = 0; i < to; ++i) {
    auto place = static_cast<float>((static_cast<double>(i) + 0.5) * scale - 0.5);
    auto first = static_cast<int64_t>(std::floor(place));
    place -= static_cast<float>(first);
    const bool outside = n == 2 && (first < 0 || first >= from - 1);
    if (outside) first = std::clamp<int64_t>(first, 0, from - 1);
    if (outside && !rows) place = 0;
    neighbours(place, weight.data());
    if (outside && rows) {
      std::copy(weight.begin(), weight.end(), taps.weight.begin() + i * n);
      taps.start[i] = static_cast<int32_t>(first);
      taps.count[i] = 1;
      continue;
    }
    add_clamped(taps, i, from, first - n / 2 + 1, n, weight.data());
  }
  return taps;
}

// The mean of what a smaller element covers, to a thousandth of an element.
Taps covered(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  Taps taps = make(to, static_cast<int64_t>(std::ceil(scale)) + 2);
  for (int64_t i = 0; i < to; ++i) {
    const double begin = static_cast<double>(i) * scale, end = begin + scale;
    const double width = std::min(scale, static_cast<double>(from) - begin);
    const auto last = std::min(static_cast<int64_t>(std::floor(end)), from - 1);
    const auto first = std::min(static_cast<int64_t>(std::ceil(begin)), last);
    double* weight = taps.weight.data() + i * taps.most;
    int32_t count = 0;
    taps.start[i] = static_cast<int32_t>(first);
    if (static_cast<double>(first) - begin > 1e-3) {
      --taps.start[i];
      weight[count++] = static_cast<float>((static_cast<double>(first) - begin) / width);
    }
    for (int64_t j = first; j < last; ++j) weight[count++] = static_cast<float>(1.0 / width);
    const double rest = end - static_cast<double>(last);
    if (rest > 1e-3) weight[count++] = static_cast<float>(std::min({rest, 1.0, width}) / width);
    taps.count[i] = count;
  }
  return taps;
}

// Where an element is larger than those of the source: it lies in one of them, or across two.
Taps spread(int64_t from, int64_t to) {
  const double inverse = static_cast<double>(to) / static_cast<double>(from), scale = 1 / inverse;
  Taps taps = make(to, 2);
  for (int64_t i = 0; i < to; ++i) {
    auto first = static_cast<int64_t>(std::floor(static_cast<double>(i) * scale));
    auto share =
        static_cast<float>(static_cast<double>(i + 1) - static_cast<double>(first + 1) * inverse);
    share = share <= 0 ? 0.f : share - std::floor(share);
    if (first >= from - 1) {
      first = from - 1;
      share = 0;
    }
    double weight[2];
    linear_neighbours(share, weight);
    add_clamped(taps, i, from, first, 2, weight);
  }
  return taps;
}

}  // namespace

Taps make_taps(int64_t from, int64_t to, Interpolation interpolation, Style style, bool rows) {
  if (style == Style::kPil) return antialiased(from, to, filter_of(interpolation));
  switch (interpolation) {
    case Interpolation::kBilinear:
      return between_neighbours(from, to, 2, linear_neighbours, rows);
    case Interpolation::kBicubic:
      return between_neighbours(from, to, 4, cubic_neighbours, rows);
    case Interpolation::kLanczos:
      return between_neighbours(from, to, 8, lanczos_neighbours, rows);
    case Interpolation::kArea:
      return from >= to ? covered(from, to) : spread(from, to);
    case Interpolation::kNearest:
    case Interpolation::kHamming:
      break;
  }
  refuse("OpenCV's resize knows nearest, bilinear, bicubic, area and lanczos, not hamming");
}

Taps make_spread_taps(int64_t from, int64_t to) { return spread(from, to); }

std::vector<int32_t> nearest_sources(int64_t from, int64_t to, Style style) {
  const double scale = style == Style::kPil
                           ? static_cast<double>(from) / static_cast<double>(to)
                           : 1 / (static_cast<double>(to) / static_cast<double>(from));
  const double offset = style == Style::kPil ? 0.5 : 0;
  std::vector<int32_t> sources(to);
  for (int64_t i = 0; i < to; ++i) {
    const double place = (static_cast<double>(i) + offset) * scale;
    sources[i] = static_cast<int32_t>(std::clamp<int64_t>(std::floor(place), 0, from - 1));
  }
  return sources;
}

}  // namespace flotilla::data
