#include "flotilla/device/cpu/fast_math.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <vector>

#include "flotilla/device/cpu/simd.h"

namespace flotilla {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

enum class Function { kExp, kLog, kTanh, kSigmoid };

void apply(Function function, const float* FLT_RESTRICT x, float* FLT_RESTRICT y, int64_t n) {
  simd([=] {
    switch (function) {
      case Function::kExp:
        for (int64_t i = 0; i < n; ++i) y[i] = fast_exp(x[i]);
        break;
      case Function::kLog:
        for (int64_t i = 0; i < n; ++i) y[i] = fast_log(x[i]);
        break;
      case Function::kTanh:
        for (int64_t i = 0; i < n; ++i) y[i] = fast_tanh(x[i]);
        break;
      case Function::kSigmoid:
        for (int64_t i = 0; i < n; ++i) y[i] = fast_sigmoid(x[i]);
        break;
    }
  });
}

double exact(Function function, double x) {
  switch (function) {
    case Function::kExp:
      return std::exp(x);
    case Function::kLog:
      return std::log(x);
    case Function::kTanh:
      return std::tanh(x);
    default:
      return x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
  }
}

constexpr Function kAll[] = {Function::kExp, Function::kLog, Function::kTanh, Function::kSigmoid};

// Every 997th float, so that all exponents of both signs are met a few thousand times.
std::vector<float> samples() {
  std::vector<float> values;
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 997) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  return values;
}

TEST(FastMath, IsRightToTheLastPlaces) {
  const std::vector<float> x = samples();
  std::vector<float> y(x.size());
  for (const Function function : kAll) {
    apply(function, x.data(), y.data(), static_cast<int64_t>(x.size()));
    double worst = 0;
    float worst_at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = exact(function, x[i]);
      const float nearest = static_cast<float>(expected);
      if (std::isnan(nearest) || std::isinf(nearest)) {
        ASSERT_EQ(std::isnan(y[i]), std::isnan(nearest)) << x[i];
        ASSERT_TRUE(std::isnan(y[i]) || y[i] == nearest) << x[i] << " gives " << y[i];
        continue;
      }
      const float next = std::nextafter(std::abs(nearest), kInfinity);
      const double unit = next - static_cast<double>(std::abs(nearest));
      const double error = std::abs(y[i] - expected) / unit;
      if (!(error <= worst)) {
        worst = error;
        worst_at = x[i];
      }
    }
    EXPECT_LT(worst, 2.5) << "function " << static_cast<int>(function) << " at " << worst_at;
    RecordProperty("units", std::to_string(worst));
  }
}

TEST(FastMath, KnowsTheEnds) {
  EXPECT_EQ(fast_exp(-kInfinity), 0.0f);
  EXPECT_EQ(fast_exp(kInfinity), kInfinity);
  EXPECT_EQ(fast_exp(0.0f), 1.0f);
  EXPECT_EQ(fast_log(0.0f), -kInfinity);
  EXPECT_EQ(fast_log(1.0f), 0.0f);
  EXPECT_EQ(fast_log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(fast_log(-1.0f)));
  EXPECT_EQ(fast_tanh(kInfinity), 1.0f);
  EXPECT_EQ(fast_tanh(-kInfinity), -1.0f);
  EXPECT_TRUE(std::signbit(fast_tanh(-0.0f)));
  EXPECT_EQ(fast_tanh(1e-40f), 1e-40f);
  EXPECT_EQ(fast_sigmoid(0.0f), 0.5f);
  EXPECT_EQ(fast_sigmoid(kInfinity), 1.0f);
  EXPECT_EQ(fast_sigmoid(-kInfinity), 0.0f);
  for (const auto f : {fast_exp, fast_log, fast_tanh, fast_sigmoid}) {
    EXPECT_TRUE(std::isnan(f(std::nanf(""))));
  }
}

TEST(FastMath, AnElementsPlaceDoesNotChangeItsBits) {
  std::vector<float> x(77), y(77), shifted(77);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.17f * static_cast<float>(i) + 0.01f;
  for (const Function function : kAll) {
    apply(function, x.data(), y.data(), 77);
    for (size_t from = 0; from < 40; ++from) {
      for (size_t n = 1; n + from <= 77; n += 5) {
        apply(function, x.data() + from, shifted.data(), static_cast<int64_t>(n));
        ASSERT_EQ(std::memcmp(shifted.data(), y.data() + from, n * sizeof(float)), 0)
            << "function " << static_cast<int>(function) << " from " << from << " for " << n;
      }
    }
  }
}

// Not a check: a number for whoever changes a polynomial.
TEST(FastMath, DISABLED_Speed) {
  std::vector<float> x(8192), y(8192);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.001f * static_cast<float>(i) - 4.0f;
  for (const Function function : kAll) {
    double best = 1e9;
    for (int round = 0; round < 200; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < 20; ++i) apply(function, x.data(), y.data(), 8192);
      const auto end = std::chrono::steady_clock::now();
      best = std::min(best, std::chrono::duration<double, std::micro>(end - begin).count() / 20);
    }
    std::printf("function %d: %.2f us for 8192 floats, %s\n", static_cast<int>(function), best,
                name_of(isa()).data());
  }
}

}  // namespace
}  // namespace flotilla
