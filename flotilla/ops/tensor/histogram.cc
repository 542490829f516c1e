// histogram: how many elements lie in each of `bins` equal parts of [min, max].

#include <algorithm>
#include <cmath>

#include "flotilla/kernel/prepare.h"

namespace flotilla::ops {
namespace {

void infer_histogram(InferContext& c) {
  const int64_t bins = c.attr<int64_t>("bins"), min = c.attr<int64_t>("min"),
                max = c.attr<int64_t>("max");
  require(bins > 0, "bins must be positive, but is {}", bins);
  require(min <= max, "max must not lie below min, but they are {} and {}", max, min);
  c.in("X");
  c.out("Out") = VarMeta::tensor(i64, {bins});
}

// [min, max], or where both are equal from the least element to the largest one; never empty.
template <typename T>
std::pair<double, double> range_of(const T* x, int64_t n, int64_t min, int64_t max) {
  std::pair<double, double> range(min, max);
  if (min == max && n > 0) {
    const auto [least, most] = std::minmax_element(x, x + n);
    range = {static_cast<double>(*least), static_cast<double>(*most)};
  }
  require(std::isfinite(range.first) && std::isfinite(range.second),
          "a histogram needs finite ends, but they are {} and {}", range.first, range.second);
  if (range.first == range.second) return {range.first - 1, range.second + 1};
  return range;
}

constexpr auto histogram_forward = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("X").numel(), bins = c.attr<int64_t>("bins"), min = c.attr<int64_t>("min"),
          max = c.attr<int64_t>("max"), in = c.in<T>("X"), out = c.out<int64_t>("Out")] {
    const auto [low, high] = range_of(in.data(), n, min, max);
    std::fill_n(out.data(), bins, 0);
    for (int64_t i = 0; i < n; ++i) {
      const double x = static_cast<double>(in.data()[i]);
      if (!(low <= x && x <= high)) continue;
      const double part = (x - low) / (high - low) * static_cast<double>(bins);
      ++out.data()[std::min(static_cast<int64_t>(part), bins - 1)];
    }
  };
};

const OpDef& histogram = define_op({
    .type = "histogram",
    .doc = "How many elements lie in each of several equal parts of a range.",
    .inputs = {{.name = "X", .doc = "tensor", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "i64, a number for each part"}},
    .attrs = {{"bins", int64_t{100}, "parts"},
              {"min", 0, "where the first one begins"},
              {"max", 0, "where the last one ends; as `min`: the range is that of X"}},
    .infer = infer_histogram,
    .kernels = kernels_for<float, double, int32_t, int64_t>(histogram_forward),
});

}  // namespace
}  // namespace flotilla::ops
