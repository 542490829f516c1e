#include "flotilla/device/cpu/batch_norm.h"

#include <chrono>
#include <cstdio>

#include "flotilla/base/error.h"
#include "flotilla/device/allocator.h"
#include "flotilla/device/cpu/onednn.h"
#include "flotilla/device/cpu/onednn_testing.h"

namespace flotilla {
namespace {

using onednn::expect_near;
using onednn::Floats;
using onednn::pack;
using onednn::Scratch;
using onednn::uniform;
using onednn::unpack;
using onednn::unwritten;
using onednn::with_threads;

struct Case {
  Shape shape = {};
  Layout layout = {};
  bool relu = false, residual = false;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const bool relu : {false, true}) {
    for (const bool residual : {false, true}) {
      for (const char* layout : {"plain", "acdb", "aBcd16b", "aBcd8b"}) {
        all.push_back({{3, 32, 5, 7}, parse_layout(layout), relu, residual});
        all.push_back({{5, 19, 3, 5}, parse_layout(layout), relu, residual});
        all.push_back({{4, 48, 16, 17}, parse_layout(layout), relu, residual});
      }
      all.push_back({{70, 10}, Layout(), relu, residual});
      all.push_back({{2, 20, 4, 3, 5}, parse_layout("aBcde16b"), relu, residual});
    }
  }
  return all;
}

std::string name_of(const Case& c) {
  return fmt::format("{} {} relu {} residual {}", c.shape, c.layout, c.relu, c.residual);
}

constexpr float kEpsilon = 1e-5f, kMomentum = 0.9f;

// Inputs, and what plain loops in double make of them.
struct Numbers {
  explicit Numbers(const Case& c);

  Floats x, residual, dy, scale, shift;
  Floats mean, variance, inv_std, y, dx, dresidual, dscale, dshift;
};

Numbers::Numbers(const Case& c)
    : x(uniform(c.shape.numel(), 1, -1, 3)),
      residual(uniform(c.shape.numel(), 2)),
      dy(uniform(c.shape.numel(), 3)),
      scale(uniform(c.shape[1], 4, 0.5f, 1.5f)),
      shift(uniform(c.shape[1], 5)),
      y(x.size()),
      dx(x.size()),
      dresidual(x.size()) {
  const size_t channels = scale.size();
  const size_t inner = static_cast<size_t>(c.shape.numel(2, c.shape.rank()));
  const auto channel = [&](size_t i) { return i / inner % channels; };
  const double count = static_cast<double>(x.size() / channels);
  std::vector<double> sum(channels), squares(channels), sum_dy(channels), dot(channels);
  for (size_t i = 0; i < x.size(); ++i) sum[channel(i)] += x[i] / count;
  for (size_t i = 0; i < x.size(); ++i) {
    squares[channel(i)] += std::pow(x[i] - sum[channel(i)], 2) / count;
  }
  const auto normal = [&](size_t i) {
    return (x[i] - sum[channel(i)]) / std::sqrt(squares[channel(i)] + kEpsilon);
  };
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t k = channel(i);
    const double value = normal(i) * scale[k] + shift[k] + (c.residual ? residual[i] : 0);
    const bool cut = c.relu && value <= 0;
    y[i] = cut ? 0.0f : static_cast<float>(value);
    dresidual[i] = cut ? 0.0f : dy[i];
    sum_dy[k] += dresidual[i];
    dot[k] += dresidual[i] * normal(i);
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t k = channel(i);
    dx[i] = static_cast<float>(scale[k] / std::sqrt(squares[k] + kEpsilon) *
                               (dresidual[i] - sum_dy[k] / count - normal(i) * dot[k] / count));
  }
  mean.assign(sum.begin(), sum.end());
  variance.assign(squares.begin(), squares.end());
  dscale.assign(dot.begin(), dot.end());
  dshift.assign(sum_dy.begin(), sum_dy.end());
  for (const double square : squares) {
    inv_std.push_back(static_cast<float>(1 / std::sqrt(square + kEpsilon)));
  }
}

BatchNorm norm_of(const Case& c) {
  return BatchNorm({.shape = c.shape,
                    .layout = c.layout,
                    .epsilon = kEpsilon,
                    .momentum = kMomentum,
                    .relu = c.relu});
}

TEST(OwnBatchNorm, ForwardAgreesWithLoops) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(name_of(c));
    const Numbers n(c);
    const Floats x = pack(c.shape, c.layout, n.x), z = pack(c.shape, c.layout, n.residual);
    with_threads([&] {
      const BatchNorm norm = norm_of(c);
      Scratch scratch(norm.scratch_bytes());
      Floats y = unwritten(c.shape, c.layout), mean = unwritten({c.shape[1]}), inv_std = mean;
      Floats running_mean(mean.size(), 1.0f), running_variance(mean.size(), 2.0f);
      norm.forward({.x = x.data(),
                    .residual = c.residual ? z.data() : nullptr,
                    .scale = n.scale.data(),
                    .shift = n.shift.data(),
                    .y = y.data(),
                    .mean = mean.data(),
                    .inv_std = inv_std.data(),
                    .running_mean = running_mean.data(),
                    .running_variance = running_variance.data()},
                   scratch.data());
      expect_near(mean, n.mean, 1e-6f);
      expect_near(inv_std, n.inv_std, 1e-6f);
      for (size_t k = 0; k < mean.size(); ++k) {
        EXPECT_NEAR(running_mean[k], 0.9f * 1 + 0.1f * n.mean[k], 1e-6f);
        EXPECT_NEAR(running_variance[k], 0.9f * 2 + 0.1f * n.variance[k], 1e-6f);
      }
      Floats plain = unpack(c.shape, c.layout, y);
      expect_near(plain, n.y, 1e-6f);
      return plain;
    });
  }
}

// `y_given`: the mask comes from the result, not from the source again.
void check_backward(const Case& c, bool y_given, bool in_place) {
  SCOPED_TRACE(fmt::format("{} y given {} in place {}", name_of(c), y_given, in_place));
  const Numbers n(c);
  const Floats x = pack(c.shape, c.layout, n.x), y = pack(c.shape, c.layout, n.y);
  with_threads([&] {
    const BatchNorm norm = norm_of(c);
    Scratch scratch(norm.scratch_bytes());
    Floats dy = pack(c.shape, c.layout, n.dy);
    Floats dx = unwritten(c.shape, c.layout), dresidual = dx;
    Floats dscale = unwritten({c.shape[1]}), dshift = dscale;
    norm.backward({.x = x.data(),
                   .y = y_given ? y.data() : nullptr,
                   .dy = dy.data(),
                   .scale = n.scale.data(),
                   .shift = n.shift.data(),
                   .mean = n.mean.data(),
                   .inv_std = n.inv_std.data(),
                   .dx = in_place ? dy.data() : dx.data(),
                   .dresidual = c.residual ? dresidual.data() : nullptr,
                   .dscale = dscale.data(),
                   .dshift = dshift.data()},
                  scratch.data());
    expect_near(dscale, n.dscale, 1e-5f);
    expect_near(dshift, n.dshift, 1e-5f);
    if (c.residual) expect_near(unpack(c.shape, c.layout, dresidual), n.dresidual, 1e-6f);
    Floats plain = unpack(c.shape, c.layout, in_place ? dy : dx);
    expect_near(plain, n.dx, 1e-5f);
    return plain;
  });
}

TEST(OwnBatchNorm, BackwardAgreesWithLoops) {
  for (const Case& c : cases()) {
    check_backward(c, true, false);
    check_backward(c, true, true);
    if (!c.residual) check_backward(c, false, false);
  }
}

TEST(OwnBatchNorm, InferenceUsesTheGivenStatistics) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(name_of(c));
    const Numbers n(c);
    const BatchNorm norm = norm_of(c);
    Scratch scratch(norm.scratch_bytes());
    Floats y = pack(c.shape, c.layout, n.x);
    const Floats z = pack(c.shape, c.layout, n.residual);
    norm.infer({.x = y.data(),
                .residual = c.residual ? z.data() : nullptr,
                .scale = n.scale.data(),
                .shift = n.shift.data(),
                .mean = n.mean.data(),
                .variance = n.variance.data(),
                .y = y.data()},
               scratch.data());
    expect_near(unpack(c.shape, c.layout, y), n.y, 1e-6f);
  }
}

TEST(OwnBatchNorm, KeepsItsDigitsFarFromZero) {
  const Case c = {{4, 16, 8, 8}, parse_layout("aBcd16b")};
  Numbers n(c);
  for (float& value : n.x) value = 1000.0f + value * 0.01f;
  Floats mean(16), inv_std(16), y(n.x.size());
  const BatchNorm norm = norm_of(c);
  Scratch scratch(norm.scratch_bytes());
  norm.forward({.x = n.x.data(),
                .scale = n.scale.data(),
                .shift = n.shift.data(),
                .y = y.data(),
                .mean = mean.data(),
                .inv_std = inv_std.data()},
               scratch.data());
  double sum = 0, squares = 0;
  for (size_t i = 0; i < y.size(); i += 16) {
    const double normal = (y[i] - n.shift[0]) / n.scale[0];
    sum += normal / 256;
    squares += normal * normal / 256;
  }
  EXPECT_NEAR(sum, 0, 1e-2);  // the digits of a mean near 1000
  EXPECT_NEAR(squares, 1, 0.15);
}

TEST(OwnBatchNorm, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(BatchNorm::knows({8}, {}));
  EXPECT_FALSE(BatchNorm::knows({0, 8, 2, 2}, {}));
  EXPECT_FALSE(BatchNorm::knows({32, 32, 2, 2}, parse_layout("ABcd16b16a")));
  EXPECT_THROW(BatchNorm({.shape = {8}}), Error);
}

template <typename F>
double milliseconds(F&& f) {
  f();
  double best = 1e9;
  for (int i = 0; i < 10; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    const auto end = std::chrono::steady_clock::now();
    best = std::min(best, std::chrono::duration<double, std::milli>(end - begin).count());
  }
  return best;
}

void compare_with_onednn(const Shape& shape, const char* layout_name) {
  const Layout layout = parse_layout(layout_name);
  const int64_t channels = shape[1];
  Floats x = uniform(layout.physical_numel(shape), 1), y = x, dy = x, dx = x, z = x, dz = x;
  Floats scale = uniform(channels, 2), shift = scale, mean = scale, inv = scale, ds = scale;
  Floats dh = scale;
  onednn::BatchNormForward forward({.shape = shape, .relu = true}, layout, true);
  onednn::BatchNormBackward backward({.shape = shape, .relu = true}, layout);
  Scratch workspace(forward.workspace_bytes());
  Scratch scratch(std::max(forward.scratch_bytes(), backward.scratch_bytes()) + (1 << 22));
  const double theirs = milliseconds([&] {
    forward.run(x.data(), scale.data(), shift.data(), mean.data(), inv.data(), y.data(),
                workspace.data(), scratch.data());
  });
  const double theirs_back = milliseconds([&] {
    backward.run(x.data(), dy.data(), scale.data(), mean.data(), inv.data(), workspace.data(),
                 dx.data(), ds.data(), dh.data(), scratch.data());
  });
  const BatchNorm norm({.shape = shape, .layout = layout, .relu = true});
  const auto run = [&](const float* residual) {
    return milliseconds([&] {
      norm.forward({x.data(), residual, scale.data(), shift.data(), y.data(), mean.data(),
                    inv.data(), nullptr, nullptr},
                   scratch.data());
    });
  };
  const auto run_back = [&](const float* result, float* dresidual) {
    return milliseconds([&] {
      norm.backward({x.data(), result, dy.data(), scale.data(), shift.data(), mean.data(),
                     inv.data(), dx.data(), dresidual, ds.data(), dh.data()},
                    scratch.data());
    });
  };
  std::printf(
      "%s %s threads %d: relu %.2f (onednn %.2f), add+relu %.2f, back %.2f (onednn %.2f), "
      "back by y %.2f, back with add %.2f ms\n",
      to_string(shape).c_str(), layout_name, threads(), run(nullptr), theirs, run(z.data()),
      run_back(nullptr, nullptr), theirs_back, run_back(y.data(), nullptr),
      run_back(y.data(), dz.data()));
}

TEST(OwnBatchNorm, DISABLED_SpeedAgainstOneDnn) {
  const int before = threads();
  for (const int count : {1, 2}) {
    set_threads(count);
    for (const char* layout : {"aBcd16b", "plain", "acdb"}) {
      compare_with_onednn({16, 256, 56, 56}, layout);
      compare_with_onednn({16, 64, 56, 56}, layout);
      compare_with_onednn({16, 128, 28, 28}, layout);
      compare_with_onednn({16, 1024, 14, 14}, layout);
      compare_with_onednn({16, 512, 7, 7}, layout);
    }
  }
  set_threads(before);
}

}  // namespace
}  // namespace flotilla
