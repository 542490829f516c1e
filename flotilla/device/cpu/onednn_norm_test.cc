// Batch norm, softmax and pooling.

#include <algorithm>

#include "flotilla/base/error.h"
#include "flotilla/device/cpu/onednn.h"
#include "flotilla/device/cpu/onednn_testing.h"

namespace flotilla::onednn {
namespace {

// ---- Batch norm

struct NormCase {
  Shape shape;
  Layout layout;
  bool relu = false;
};

std::vector<NormCase> norm_cases() {
  std::vector<NormCase> cases;
  for (const bool relu : {false, true}) {
    for (const char* layout : {"plain", "acdb", "aBcd16b"}) {
      cases.push_back({{3, 32, 5, 6}, parse_layout(layout), relu});
      cases.push_back({{4, 19, 3, 5}, parse_layout(layout), relu});
    }
    cases.push_back({{40, 10}, Layout(), relu});
  }
  return cases;
}

struct NormResult {
  std::vector<double> mean, variance;
  Floats y, dx, dscale, dshift;
};

// Sums in double, with dy masked where relu cut y off.
NormResult naive_norm(const NormCase& c, const Floats& x, const Floats& scale, const Floats& shift,
                      const Floats& dy, double epsilon) {
  const size_t channels = scale.size();
  const size_t inner = static_cast<size_t>(c.shape.numel(2, c.shape.rank()));
  const auto channel = [&](size_t i) { return i / inner % channels; };
  const double count = static_cast<double>(x.size() / channels);
  NormResult r = {std::vector<double>(channels),
                  std::vector<double>(channels),
                  Floats(x.size()),
                  Floats(x.size()),
                  {},
                  {}};
  std::vector<double> sum_dy(channels), sum_dy_x(channels);
  for (size_t i = 0; i < x.size(); ++i) r.mean[channel(i)] += x[i] / count;
  for (size_t i = 0; i < x.size(); ++i) {
    r.variance[channel(i)] += std::pow(x[i] - r.mean[channel(i)], 2) / count;
  }
  const auto normal = [&](size_t i) {
    return (x[i] - r.mean[channel(i)]) / std::sqrt(r.variance[channel(i)] + epsilon);
  };
  std::vector<double> masked(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double y = normal(i) * scale[channel(i)] + shift[channel(i)];
    const bool cut = c.relu && y <= 0;
    r.y[i] = cut ? 0.0f : static_cast<float>(y);
    masked[i] = cut ? 0.0 : dy[i];
    sum_dy[channel(i)] += masked[i];
    sum_dy_x[channel(i)] += masked[i] * normal(i);
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t k = channel(i);
    r.dx[i] = static_cast<float>(scale[k] / std::sqrt(r.variance[k] + epsilon) *
                                 (masked[i] - sum_dy[k] / count - normal(i) * sum_dy_x[k] / count));
  }
  r.dscale.assign(sum_dy_x.begin(), sum_dy_x.end());
  r.dshift.assign(sum_dy.begin(), sum_dy.end());
  return r;
}

TEST(BatchNorm, ForwardAndBackwardAgreeWithLoops) {
  for (const NormCase& c : norm_cases()) {
    SCOPED_TRACE(fmt::format("{} {} relu {}", c.shape, c.layout, c.relu));
    const int64_t channels = c.shape[1];
    const Floats x = uniform(c.shape.numel(), 1), dy = uniform(c.shape.numel(), 2);
    const Floats scale = uniform(channels, 3, 0.5f, 1.5f), shift = uniform(channels, 4);
    const NormResult expected = naive_norm(c, x, scale, shift, dy, 1e-5);
    const BatchNormProblem p = {.shape = c.shape, .epsilon = 1e-5f, .relu = c.relu};
    const Floats packed = pack(c.shape, c.layout, x), packed_dy = pack(c.shape, c.layout, dy);
    with_threads([&] {
      BatchNormForward forward(p, c.layout, true);
      BatchNormBackward backward(p, c.layout);
      Scratch workspace(forward.workspace_bytes()), scratch(forward.scratch_bytes());
      Floats mean = unwritten({channels}), variance = mean, y = unwritten(c.shape, c.layout);
      forward.run(packed.data(), scale.data(), shift.data(), mean.data(), variance.data(), y.data(),
                  workspace.data(), scratch.data());
      expect_near(mean, Floats(expected.mean.begin(), expected.mean.end()), 1e-5f);
      expect_near(variance, Floats(expected.variance.begin(), expected.variance.end()), 1e-5f);
      Floats all = unpack(c.shape, c.layout, y);
      expect_near(all, expected.y, 1e-5f);

      Scratch more(backward.scratch_bytes());
      Floats dx = unwritten(c.shape, c.layout), dscale = unwritten({channels}), dshift = dscale;
      backward.run(packed.data(), packed_dy.data(), scale.data(), mean.data(), variance.data(),
                   workspace.data(), dx.data(), dscale.data(), dshift.data(), more.data());
      const Floats plain_dx = unpack(c.shape, c.layout, dx);
      expect_near(plain_dx, expected.dx, 1e-4f);
      expect_near(dscale, expected.dscale, 1e-4f);
      expect_near(dshift, expected.dshift, 1e-4f);
      all.insert(all.end(), plain_dx.begin(), plain_dx.end());
      return all;
    });
  }
}

TEST(BatchNorm, InferenceUsesTheGivenStatistics) {
  for (const NormCase& c : norm_cases()) {
    SCOPED_TRACE(fmt::format("{} {} relu {}", c.shape, c.layout, c.relu));
    const int64_t channels = c.shape[1];
    const Floats x = uniform(c.shape.numel(), 1), scale = uniform(channels, 3);
    const Floats shift = uniform(channels, 4);
    Floats mean = uniform(channels, 5), variance = uniform(channels, 6, 0.5f, 2.0f);
    const int64_t inner = c.shape.numel(2, c.shape.rank());
    Floats expected(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t k = static_cast<size_t>(static_cast<int64_t>(i) / inner % channels);
      expected[i] = (x[i] - mean[k]) / std::sqrt(variance[k] + 1e-5f) * scale[k] + shift[k];
      if (c.relu) expected[i] = std::max(0.0f, expected[i]);
    }
    BatchNormForward forward({.shape = c.shape, .relu = c.relu}, c.layout, false);
    EXPECT_EQ(forward.workspace_bytes(), 0);
    Scratch scratch(forward.scratch_bytes());
    Floats y = unwritten(c.shape, c.layout);
    forward.run(pack(c.shape, c.layout, x).data(), scale.data(), shift.data(), mean.data(),
                variance.data(), y.data(), nullptr, scratch.data());
    expect_near(unpack(c.shape, c.layout, y), expected, 1e-5f);
  }
}

// ---- Pooling

PoolProblem pool(Shape src, Shape dst, std::vector<int64_t> kernel, std::vector<int64_t> strides,
                 std::vector<int64_t> pads_begin, std::vector<int64_t> pads_end) {
  return {.src = src,
          .dst = dst,
          .kernel = kernel,
          .strides = strides,
          .pads_begin = pads_begin,
          .pads_end = pads_end};
}

const PoolProblem kPools[] = {
    pool({2, 16, 8, 8}, {2, 16, 4, 4}, {2, 2}, {2, 2}, {0, 0}, {0, 0}),
    pool({2, 19, 11, 11}, {2, 19, 6, 6}, {3, 3}, {2, 2}, {1, 1}, {1, 1}),
    pool({1, 6, 7, 9}, {1, 6, 4, 9}, {3, 2}, {2, 1}, {1, 0}, {1, 1}),
    pool({2, 32, 7, 7}, {2, 32, 1, 1}, {7, 7}, {1, 1}, {0, 0}, {0, 0}),
};

// Calls f(offset in dst, offsets of the window in src) for each result.
template <typename F>
void for_each_window(const PoolProblem& p, F&& f) {
  for_each_index(p.dst, [&](const std::vector<int64_t>& d, size_t at_dst) {
    std::vector<size_t> window;
    for (int64_t i = 0; i < p.kernel[0]; ++i) {
      for (int64_t j = 0; j < p.kernel[1]; ++j) {
        const int64_t h = d[2] * p.strides[0] - p.pads_begin[0] + i;
        const int64_t w = d[3] * p.strides[1] - p.pads_begin[1] + j;
        if (h < 0 || w < 0 || h >= p.src[2] || w >= p.src[3]) continue;
        window.push_back(static_cast<size_t>(Layout().offset(p.src, {d[0], d[1], h, w})));
      }
    }
    f(at_dst, window);
  });
}

double divisor(const PoolProblem& p, size_t window) {
  return p.kind == PoolKind::kAverageWithPadding ? static_cast<double>(p.kernel[0] * p.kernel[1])
                                                 : static_cast<double>(window);
}

Floats naive_pool(const PoolProblem& p, const Floats& src) {
  Floats dst(static_cast<size_t>(p.dst.numel()));
  for_each_window(p, [&](size_t at, const std::vector<size_t>& window) {
    double sum = 0, most = -INFINITY;
    for (const size_t s : window) {
      sum += src[s];
      most = std::max<double>(most, src[s]);
    }
    dst[at] = static_cast<float>(p.kind == PoolKind::kMax ? most : sum / divisor(p, window.size()));
  });
  return dst;
}

Floats naive_pool_backward(const PoolProblem& p, const Floats& src, const Floats& diff_dst) {
  Floats diff(src.size(), 0.0f);
  for_each_window(p, [&](size_t at, const std::vector<size_t>& window) {
    if (p.kind == PoolKind::kMax) {
      diff[*std::max_element(window.begin(), window.end(),
                             [&](size_t a, size_t b) { return src[a] < src[b]; })] += diff_dst[at];
      return;
    }
    for (const size_t s : window) {
      diff[s] += diff_dst[at] / static_cast<float>(divisor(p, window.size()));
    }
  });
  return diff;
}

TEST(Pooling, ForwardAndBackwardAgreeWithLoops) {
  using enum PoolKind;
  for (PoolProblem p : kPools) {
    for (const PoolKind kind : {kMax, kAverageWithPadding, kAverageWithoutPadding}) {
      for (const char* name : {"plain", "acdb", "aBcd16b"}) {
        SCOPED_TRACE(
            fmt::format("{} to {}, kind {}, {}", p.src, p.dst, static_cast<int>(kind), name));
        p.kind = kind;
        const Layout layout = parse_layout(name);
        const Floats src = uniform(p.src.numel(), 1), diff_dst = uniform(p.dst.numel(), 2);
        with_threads([&] {
          PoolForward forward(p, layout, true);
          PoolBackward backward(p, layout);
          EXPECT_EQ(forward.workspace_bytes() > 0, kind == kMax);
          Scratch workspace(forward.workspace_bytes());
          Scratch scratch(std::max(forward.scratch_bytes(), backward.scratch_bytes()));
          Floats dst = unwritten(p.dst, layout), diff = unwritten(p.src, layout);
          forward.run(pack(p.src, layout, src).data(), dst.data(), workspace.data(),
                      scratch.data());
          expect_near(unpack(p.dst, layout, dst), naive_pool(p, src), 1e-5f);
          backward.run(pack(p.dst, layout, diff_dst).data(), workspace.data(), diff.data(),
                       scratch.data());
          expect_near(unpack(p.src, layout, diff), naive_pool_backward(p, src, diff_dst), 1e-5f);
          dst.insert(dst.end(), diff.begin(), diff.end());
          return dst;
        });
      }
    }
  }
}

TEST(Pooling, InferenceKeepsNoWorkspace) {
  PoolForward forward(kPools[0], {}, false);
  EXPECT_EQ(forward.workspace_bytes(), 0);
  const Floats src = uniform(kPools[0].src.numel(), 1);
  Floats dst = unwritten(kPools[0].dst);
  Scratch scratch(forward.scratch_bytes());
  forward.run(src.data(), dst.data(), nullptr, scratch.data());
  expect_near(dst, naive_pool(kPools[0], src), 1e-6f);
}

// ---- Softmax

TEST(Softmax, ForwardAndBackwardAgreeWithLoops) {
  const Shape shape = {3, 10, 7};
  for (const int64_t axis : {-1, 0, 1}) {
    for (const bool logarithm : {false, true}) {
      SCOPED_TRACE(fmt::format("axis {} logarithm {}", axis, logarithm));
      const int64_t a = shape.axis(axis), n = shape[a], stride = shape.numel(a + 1, 3);
      const Floats x = uniform(shape.numel(), 1, -4, 4), dy = uniform(shape.numel(), 2);
      Floats expected(x.size()), expected_dx(x.size());
      for (int64_t slice = 0; slice < shape.numel() / n; ++slice) {
        const int64_t begin = slice / stride * n * stride + slice % stride;
        const auto at = [&](int64_t i) { return static_cast<size_t>(begin + i * stride); };
        double sum = 0, dot = 0, sum_dy = 0;
        for (int64_t i = 0; i < n; ++i) sum += std::exp(x[at(i)]);
        for (int64_t i = 0; i < n; ++i) {
          const double y = std::exp(x[at(i)]) / sum;
          expected[at(i)] = static_cast<float>(logarithm ? std::log(y) : y);
          dot += dy[at(i)] * y;
          sum_dy += dy[at(i)];
        }
        for (int64_t i = 0; i < n; ++i) {
          const double y = std::exp(x[at(i)]) / sum;
          expected_dx[at(i)] =
              static_cast<float>(logarithm ? dy[at(i)] - y * sum_dy : y * (dy[at(i)] - dot));
        }
      }
      with_threads([&] {
        SoftmaxForward forward(shape, axis, logarithm);
        SoftmaxBackward backward(shape, axis, logarithm);
        Scratch scratch(std::max(forward.scratch_bytes(), backward.scratch_bytes()));
        Floats y = unwritten(shape), dx = unwritten(shape);
        forward.run(x.data(), y.data(), scratch.data());
        expect_near(y, expected, 1e-5f);
        backward.run(y.data(), dy.data(), dx.data(), scratch.data());
        expect_near(dx, expected_dx, 1e-5f);
        y.insert(y.end(), dx.begin(), dx.end());
        return y;
      });
    }
  }
}

TEST(Softmax, LargeInputsDoNotOverflow) {
  SoftmaxForward forward({1, 2}, -1);
  Scratch scratch(forward.scratch_bytes());
  const Floats x = {1000, 1000};
  Floats y(2);
  forward.run(x.data(), y.data(), scratch.data());
  expect_near(y, {0.5f, 0.5f}, 1e-6f);
}

TEST(Softmax, RefusesAnAxisBeyondTheRank) { EXPECT_THROW(SoftmaxForward({2, 3}, 2), Error); }

}  // namespace
}  // namespace flotilla::onednn
