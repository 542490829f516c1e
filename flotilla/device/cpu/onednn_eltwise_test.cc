// Element-wise computations, sums, reductions and reorders.

#include <algorithm>
#include <functional>

#include "flotilla/base/error.h"
#include "flotilla/device/cpu/onednn.h"
#include "flotilla/device/cpu/onednn_testing.h"

namespace flotilla::onednn {
namespace {

struct ActCase {
  std::string_view name = {};
  Activation act = {};
  std::function<double(double)> f = {};
  float least = -4, most = 4;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

const std::vector<ActCase>& acts() {
  using enum Act;
  static const std::vector<ActCase> rows = {
      {"relu", {kRelu}, [](double x) { return x > 0 ? x : 0; }},
      {"leaky relu", {kRelu, 0.1f}, [](double x) { return x > 0 ? x : 0.1 * x; }},
      {"relu of negative slope", {kRelu, -0.5f}, [](double x) { return x > 0 ? x : -0.5 * x; }},
      {"tanh", {kTanh}, [](double x) { return std::tanh(x); }},
      {"sigmoid", {kSigmoid}, sigmoid},
      {"gelu", {kGeluErf}, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
      {"gelu by tanh",
       {kGeluTanh},
       [](double x) {
         return 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
       }},
      {"elu", {kElu, 0.7f}, [](double x) { return x > 0 ? x : 0.7 * std::expm1(x); }},
      {"swish", {kSwish, 1.5f}, [](double x) { return x * sigmoid(1.5 * x); }},
      {"hard swish", {kHardSwish}, [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }},
      {"softplus", {kSoftplus}, [](double x) { return std::log1p(std::exp(x)); }},
      {"mish", {kMish}, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"exp", {kExp}, [](double x) { return std::exp(x); }},
      {"log", {kLog}, [](double x) { return std::log(x); }, 0.1f, 5},
      {"sqrt", {kSqrt}, [](double x) { return std::sqrt(x); }, 0.1f, 5},
      {"abs", {kAbs}, [](double x) { return std::abs(x); }},
      {"square", {kSquare}, [](double x) { return x * x; }},
      {"clip", {kClip, -1, 2}, [](double x) { return std::clamp(x, -1.0, 2.0); }},
      {"linear", {kLinear, 2, 3}, [](double x) { return 2 * x + 3; }},
      {"pow", {kPow, 2, 3}, [](double x) { return 2 * x * x * x; }, 0.1f, 2},
  };
  return rows;
}

TEST(Eltwise, ForwardAndBackwardAgreeWithLoops) {
  const Shape shape = {2, 19, 3, 5};
  for (const ActCase& c : acts()) {
    for (const char* name : {"plain", "aBcd16b"}) {
      SCOPED_TRACE(fmt::format("{} {}", c.name, name));
      const Layout layout = parse_layout(name);
      const Floats x = uniform(shape.numel(), 1, c.least, c.most), dy = uniform(shape.numel(), 2);
      Floats expected(x.size()), expected_dx(x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        expected[i] = static_cast<float>(c.f(x[i]));
        const double step = 1e-5;
        expected_dx[i] =
            static_cast<float>(dy[i] * (c.f(x[i] + step) - c.f(x[i] - step)) / (2 * step));
      }
      with_threads([&] {
        EltwiseForward forward(c.act, shape, layout);
        EltwiseBackward backward(c.act, shape, layout);
        EXPECT_EQ(forward.scratch_bytes() + backward.scratch_bytes(), 0);
        const Floats packed = pack(shape, layout, x);
        Floats y = unwritten(shape, layout), dx = unwritten(shape, layout);
        forward.run(packed.data(), y.data());
        Floats all = unpack(shape, layout, y);
        expect_near(all, expected, 1e-5f);
        backward.run(backward.uses_result() ? y.data() : packed.data(),
                     pack(shape, layout, dy).data(), dx.data());
        expect_near(unpack(shape, layout, dx), expected_dx, 1e-4f);
        return all;
      });
    }
  }
}

TEST(Eltwise, WorksInPlace) {
  EltwiseForward forward({Act::kTanh}, {100});
  const Floats x = uniform(100, 1);
  Floats y = x, separate(100);
  forward.run(y.data(), y.data());
  forward.run(x.data(), separate.data());
  EXPECT_EQ(y, separate);
}

TEST(Eltwise, NoElementsIsNoWork) {
  EltwiseForward({Act::kTanh}, {0, 4}).run(nullptr, nullptr);
  EltwiseBackward({Act::kTanh}, {0, 4}).run(nullptr, nullptr, nullptr);
  Binary(BinaryKind::kAdd, {0, 4}, {1, 4}).run(nullptr, nullptr, nullptr);
  Reorder({0, 32, 2, 2}, f32, {}, parse_layout("aBcd16b")).run(nullptr, nullptr, nullptr);
}

TEST(Eltwise, RefusesNoActivation) { EXPECT_THROW(EltwiseForward({}, {4}), Error); }

TEST(Binary, AllKindsWithBroadcast) {
  const Shape a = {3, 20, 4};
  using enum BinaryKind;
  for (const Shape& b : {Shape{3, 20, 4}, Shape{1, 20, 1}, Shape{1, 1, 4}, Shape{1, 1, 1}}) {
    const Floats x = uniform(a.numel(), 1), y = uniform(b.numel(), 2, 0.5f, 1.5f);
    for (const BinaryKind kind : {kAdd, kSub, kMul, kDiv, kMax, kMin}) {
      SCOPED_TRACE(fmt::format("{} kind {}", b, static_cast<int>(kind)));
      Floats expected(x.size());
      for_each_index(a, [&](std::vector<int64_t> index, size_t i) {
        for (size_t axis = 0; axis < 3; ++axis) {
          index[axis] = std::min(index[axis], b[static_cast<int64_t>(axis)] - 1);
        }
        const float p = x[i], q = y[static_cast<size_t>(Layout().offset(b, index))];
        const float results[] = {p + q, p - q, p * q, p / q, std::max(p, q), std::min(p, q)};
        expected[i] = results[static_cast<size_t>(kind)];
      });
      Binary binary(kind, a, b);
      EXPECT_EQ(binary.scratch_bytes(), 0);
      Floats z = unwritten(a);
      binary.run(x.data(), y.data(), z.data());
      expect_near(z, expected, 1e-6f);
    }
  }
}

TEST(Sum, AddsInOrderInAnyLayout) {
  const Shape shape = {2, 19, 4, 4};
  const Layout layout = parse_layout("aBcd16b");
  for (const int64_t inputs : {1, 2, 5}) {
    Floats expected(static_cast<size_t>(shape.numel()), 0.0f);
    std::vector<Floats> packed;
    std::vector<const float*> pointers;
    for (int64_t i = 0; i < inputs; ++i) {
      const Floats x = uniform(shape.numel(), static_cast<uint32_t>(i));
      for (size_t k = 0; k < x.size(); ++k) expected[k] += x[k];
      packed.push_back(pack(shape, layout, x));
    }
    for (const Floats& x : packed) pointers.push_back(x.data());
    Sum sum(inputs, shape, layout);
    EXPECT_EQ(sum.scratch_bytes(), 0);
    Floats y = unwritten(shape, layout);
    sum.run(pointers, y.data());
    expect_near(unpack(shape, layout, y), expected, 1e-6f);
    sum.run(pointers, packed[0].data());  // onto the first input
    EXPECT_EQ(packed[0], y);
  }
}

TEST(Reduction, SumsMeansAndExtremes) {
  const Shape from = {6, 7, 8};
  using enum ReduceKind;
  for (const Shape& to : {Shape{1, 7, 8}, Shape{6, 1, 1}, Shape{1, 1, 1}}) {
    const Floats x = uniform(from.numel(), 1);
    for (const ReduceKind kind : {kSum, kMean, kMax, kMin}) {
      std::vector<double> sum(static_cast<size_t>(to.numel()), 0.0);
      std::vector<double> most(sum.size(), -INFINITY), least(sum.size(), INFINITY);
      for_each_index(from, [&](std::vector<int64_t> index, size_t i) {
        for (size_t a = 0; a < 3; ++a) {
          index[a] = std::min(index[a], to[static_cast<int64_t>(a)] - 1);
        }
        const size_t at = static_cast<size_t>(Layout().offset(to, index));
        sum[at] += x[i];
        most[at] = std::max<double>(most[at], x[i]);
        least[at] = std::min<double>(least[at], x[i]);
      });
      const double count = static_cast<double>(from.numel() / to.numel());
      Floats expected(sum.size());
      for (size_t i = 0; i < sum.size(); ++i) {
        const double results[] = {sum[i], sum[i] / count, most[i], least[i]};
        expected[i] = static_cast<float>(results[static_cast<size_t>(kind)]);
      }
      Reduction reduction(kind, from, to);
      Scratch scratch(reduction.scratch_bytes());
      Floats y = unwritten(to);
      reduction.run(x.data(), y.data(), scratch.data());
      expect_near(y, expected, 1e-5f);
    }
  }
}

TEST(Reorder, BetweenAnyTwoLayouts) {
  const Shape shape = {18, 19, 3, 5};
  const char* names[] = {"plain", "acdb", "aBcd16b", "ABcd16b16a", "Acdb16a", "aBcd8b"};
  const Floats x = uniform(shape.numel(), 1);
  for (const char* from : names) {
    for (const char* to : names) {
      SCOPED_TRACE(fmt::format("{} to {}", from, to));
      const Layout source = parse_layout(from), target = parse_layout(to);
      with_threads([&] {
        Reorder reorder(shape, f32, source, target);
        Scratch scratch(reorder.scratch_bytes());
        Floats y = unwritten(shape, target);
        reorder.run(pack(shape, source, x).data(), y.data(), scratch.data());
        EXPECT_EQ(y, pack(shape, target, x));
        return y;
      });
    }
  }
}

// Row 3 of any dtype is 3 after a way there and back.
template <typename T>
void check_there_and_back(DType dtype) {
  const Shape shape = {5, 19, 4};
  const Layout blocked = parse_layout("aBc16b");
  std::vector<T> x(static_cast<size_t>(shape.numel()));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 2654435761u);
  std::vector<T> there(static_cast<size_t>(blocked.physical_numel(shape)), static_cast<T>(77));
  std::vector<T> back(x.size());
  Reorder forth(shape, dtype, {}, blocked), home(shape, dtype, blocked, {});
  Scratch scratch(std::max(forth.scratch_bytes(), home.scratch_bytes()));
  forth.run(x.data(), there.data(), scratch.data());
  EXPECT_EQ(there[19 * 4], T{0}) << "padding";
  home.run(there.data(), back.data(), scratch.data());
  EXPECT_EQ(back, x);
}

TEST(Reorder, MovesEveryDtype) {
  check_there_and_back<uint8_t>(u8);
  check_there_and_back<uint16_t>(bf16);
  check_there_and_back<int32_t>(i32);
  check_there_and_back<int64_t>(i64);
  check_there_and_back<double>(f64);
}

TEST(Reorder, RefusesALayoutOfAnotherRank) {
  EXPECT_THROW(Reorder({2, 3}, f32, {}, parse_layout("aBcd16b")), Error);
}

}  // namespace
}  // namespace flotilla::onednn
