#include "flotilla/base/error.h"
#include "flotilla/device/cpu/onednn.h"
#include "flotilla/device/cpu/onednn_testing.h"

namespace flotilla::onednn {
namespace {

// C = A B + bias for dense operands, element by element; batch strides as in MatmulProblem.
Floats naive(const MatmulProblem& p, const Floats& a, const Floats& b, const Floats& bias) {
  const Shape batch(p.batch);
  Floats c;
  for_each_index(batch, [&](const std::vector<int64_t>& index, size_t) {
    int64_t at_a = 0, at_b = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      at_a += index[i] * p.batch_stride_a[i];
      at_b += index[i] * p.batch_stride_b[i];
    }
    for (int64_t m = 0; m < p.m; ++m) {
      for (int64_t n = 0; n < p.n; ++n) {
        double sum = bias.empty() ? 0 : bias[static_cast<size_t>(n)];
        for (int64_t k = 0; k < p.k; ++k) {
          sum += static_cast<double>(
                     a[static_cast<size_t>(at_a + (p.transpose_a ? k * p.m + m : m * p.k + k))]) *
                 b[static_cast<size_t>(at_b + (p.transpose_b ? n * p.k + k : k * p.n + n))];
        }
        c.push_back(static_cast<float>(sum));
      }
    }
  });
  return c;
}

Floats run(Matmul& matmul, const Floats& a, const Floats& b, const Floats& bias, Floats c) {
  Scratch scratch(matmul.scratch_bytes());
  matmul.run(a.data(), b.data(), bias.data(), c.data(), scratch.data());
  return c;
}

TEST(Matmul, AllTransposesAndSizes) {
  const std::vector<std::array<int64_t, 3>> sizes = {{1, 1, 1},    {3, 5, 7},   {64, 10, 128},
                                                     {33, 17, 65}, {1, 100, 9}, {40, 1, 30}};
  for (const auto& [m, n, k] : sizes) {
    for (const int transposes : {0, 1, 2, 3}) {
      SCOPED_TRACE(fmt::format("{} x {} x {}, transposes {}", m, k, n, transposes));
      const MatmulProblem p = {.m = m,
                               .n = n,
                               .k = k,
                               .transpose_a = (transposes & 1) != 0,
                               .transpose_b = (transposes & 2) != 0,
                               .has_bias = true};
      const Floats a = uniform(m * k, 1), b = uniform(k * n, 2), bias = uniform(n, 3);
      with_threads([&] {
        Matmul matmul(p);
        Floats c = run(matmul, a, b, bias, unwritten({m, n}));
        expect_near(c, naive(p, a, b, bias), 1e-5f);
        return c;
      });
    }
  }
}

TEST(Matmul, BatchesBroadcastEitherOperand) {
  const int64_t m = 5, n = 6, k = 7;
  struct Case {
    std::vector<int64_t> batch, strides_a, strides_b;
  };
  const Case cases[] = {
      {{3}, {m * k}, {k * n}},
      {{3}, {m * k}, {0}},
      {{3}, {0}, {k * n}},
      {{2, 3}, {3 * m * k, m * k}, {3 * k * n, k * n}},
      {{2, 3}, {m * k, 0}, {0, k * n}},
      {{2, 1, 3}, {3 * m * k, 0, m * k}, {k * n, k * n, 0}},
  };
  for (const Case& c : cases) {
    for (const bool transpose : {false, true}) {
      SCOPED_TRACE(fmt::format("batch {} strides {} and {}", fmt::join(c.batch, "x"),
                               fmt::join(c.strides_a, ","), fmt::join(c.strides_b, ",")));
      const MatmulProblem p = {.m = m,
                               .n = n,
                               .k = k,
                               .transpose_a = transpose,
                               .transpose_b = transpose,
                               .batch = c.batch,
                               .batch_stride_a = c.strides_a,
                               .batch_stride_b = c.strides_b,
                               .has_bias = true};
      const Floats a = uniform(6 * m * k, 1), b = uniform(6 * k * n, 2), bias = uniform(n, 3);
      Matmul matmul(p);
      const int64_t products = Shape(c.batch).numel();
      expect_near(run(matmul, a, b, bias, unwritten({products, m, n})), naive(p, a, b, bias),
                  1e-5f);
    }
  }
}

TEST(Matmul, DenseBatchesNeedNoStrides) {
  MatmulProblem p = {.m = 4, .n = 3, .k = 2, .batch = {2, 3}};
  const Floats a = uniform(48, 1), b = uniform(36, 2);
  Matmul matmul(p);
  const Floats c = run(matmul, a, b, {}, unwritten({72}));
  p.batch_stride_a = {24, 8};
  p.batch_stride_b = {18, 6};
  expect_near(c, naive(p, a, b, {}), 1e-5f);
}

TEST(Matmul, AccumulatesOntoWhatIsThere) {
  const MatmulProblem p = {.m = 20, .n = 30, .k = 40, .transpose_a = true, .accumulate = true};
  const Floats a = uniform(800, 1), b = uniform(1200, 2), before = uniform(600, 3);
  Floats expected = naive(p, a, b, {});
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += before[i];
  Matmul matmul(p);
  expect_near(run(matmul, a, b, {}, before), expected, 1e-5f);
}

TEST(Matmul, AppliesTheActivationAfterTheBias) {
  MatmulProblem p = {.m = 9, .n = 20, .k = 11, .has_bias = true, .act = {.kind = Act::kTanh}};
  const Floats a = uniform(99, 1), b = uniform(220, 2), bias = uniform(20, 3);
  Floats expected = naive(p, a, b, bias);
  for (float& value : expected) value = std::tanh(value);
  Matmul matmul(p);
  expect_near(run(matmul, a, b, bias, unwritten({9, 20})), expected, 1e-5f);
}

TEST(Matmul, ReadsAndWritesRowsThatLieApart) {
  const MatmulProblem p = {
      .m = 3, .n = 4, .k = 5, .row_stride_a = 8, .row_stride_b = 9, .row_stride_c = 10};
  const Floats a = uniform(24, 1), b = uniform(45, 2);
  Floats dense_a, dense_b;
  for (size_t r = 0; r < 3; ++r) dense_a.insert(dense_a.end(), &a[r * 8], &a[r * 8 + 5]);
  for (size_t r = 0; r < 5; ++r) dense_b.insert(dense_b.end(), &b[r * 9], &b[r * 9 + 4]);
  const Floats expected = naive(p, dense_a, dense_b, {});
  Matmul matmul(p);
  const Floats c = run(matmul, a, b, {}, Floats(30, 7.0f));
  for (size_t r = 0; r < 3; ++r) {
    for (size_t col = 0; col < 10; ++col) {
      EXPECT_NEAR(c[r * 10 + col], col < 4 ? expected[r * 4 + col] : 7.0f, 1e-5f);
    }
  }
}

TEST(Matmul, TakesWeightsInTheLayoutItChose) {
  for (const auto& [k, n] : {std::pair<int64_t, int64_t>{784, 128}, {100, 10}}) {
    const MatmulProblem p = {.m = 64, .n = n, .k = k, .choose_b_layout = true};
    const Floats a = uniform(64 * k, 1), b = uniform(k * n, 2);
    Matmul matmul(p);
    const Floats c = run(matmul, a, pack({k, n}, matmul.b_layout(), b), {}, unwritten({64, n}));
    expect_near(c, naive(p, a, b, {}), 1e-4f);
  }
}

TEST(Matmul, NoRowsIsNoWork) {
  Matmul matmul({.m = 0, .n = 4, .k = 5});
  EXPECT_EQ(run(matmul, {}, uniform(20, 1), {}, {}), Floats());
}

TEST(Matmul, RefusesWhatItCannotDo) {
  EXPECT_THROW(Matmul({.m = 2, .n = 2, .k = 0}), Error);
  EXPECT_THROW(Matmul({.m = 2, .n = 2, .k = 2, .has_bias = true, .accumulate = true}), Error);
  EXPECT_THROW(Matmul({.m = 2, .n = 2, .k = 2, .batch = {2}, .batch_stride_a = {1, 2}}), Error);
}

}  // namespace
}  // namespace flotilla::onednn
