// poisson: how many events happen of which X are expected.

#include <algorithm>
#include <cmath>

#include "flotilla/ops/tensor/random.h"

namespace flotilla::ops {
namespace {

// How many events of which so many are expected happen: the sum of those of parts of the time, each
// found by adding up its distribution. `stride`: from one number of the stream to the next.
double count_events(const RandomStream& stream, int64_t index, int64_t stride, double expected) {
  constexpr double kMost = 1 << 20, kPart = 512;  // above kMost they are as good as normal
  if (expected > kMost) {
    const std::array<uint32_t, 4> words = stream.at(static_cast<uint64_t>(index));
    return std::round(expected + std::sqrt(expected) * normal_pair<double>(words[0], words[1])[0]);
  }
  double events = 0;
  for (double left = expected; left > 0; left -= kPart, index += stride) {
    const double part = std::min(left, kPart), number = wide_number(stream, index);
    double share = std::exp(-part);
    for (double below = share, k = 1; number > below && share > 0; ++k, ++events) {
      share *= part / k;
      below += share;
    }
  }
  return events;
}

constexpr auto poisson = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("X").numel(), draws = Draws{c.random(0)}, x = c.in<T>("X"),
          out = c.out<T>("Out")]() mutable {
    const RandomStream stream = draws.next();
    parallel_for(n, 256, [&, rates = x.data(), to = out.data()](int64_t i) {
      require(rates[i] >= 0, "poisson takes no negative numbers, but the one at place {} is {}", i,
              rates[i]);
      to[i] = static_cast<T>(count_events(stream, i, n, rates[i]));
    });
  };
};

const OpDef& poisson_op = define_random_over(
    "poisson", "How many events happen of which X are expected.", {.name = "X", .doc = "rates"}, {},
    infer_like_x, kernels_for<float, double>(poisson));

}  // namespace
}  // namespace flotilla::ops
