// flotilla/ops/nn/layer_norm.cc
//
// layer_norm: every sample, the axes of X from begin_norm_axis on, is brought to mean 0 and
// variance 1, then scaled and shifted element by element. X is rows x width here.
//
//   Y = (X - Mean) / sqrt(Variance + epsilon) * Scale + Bias

#include <algorithm>
#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/op/export_to_paddle.h"
#include "flotilla/ops/common/optional_slots.h"

namespace flotilla::ops {
namespace {

int64_t begin_axis(const InferContext& c, const Shape& x) {
  const int64_t begin = c.attr<int64_t>("begin_norm_axis");
  require(0 < begin && begin < x.rank(),
          "begin_norm_axis must lie in [1, {}) because X has shape {}, but is {}", x.rank(), x,
          begin);
  return begin;
}

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  const int64_t begin = begin_axis(c, x.shape);
  const int64_t width = x.shape.numel(begin, x.shape.rank());
  for (const char* slot : {"Scale", "Bias"}) {
    if (!c.has_in(slot)) continue;
    const Shape& shape = c.in(slot).shape;
    require(width < 0 || shape.numel() == width,
            "{} must hold {} elements because X of shape {} is normalized from axis {} on, but has "
            "shape {}",
            slot, width, x.shape, begin, shape);
  }
  const VarMeta statistic = VarMeta::tensor(x.dtype, {x.shape.numel(0, begin)});
  c.out("Mean") = statistic;
  c.out("Variance") = statistic;
  c.out("Y") = x;
  c.out("Y").value.reset();
}

struct Sizes {
  explicit Sizes(const PrepareContext& c) {
    const Shape& x = c.shape("X");
    const int64_t begin = c.attr<int64_t>("begin_norm_axis");
    rows = x.numel(0, begin);
    width = x.numel(begin, x.rank());
  }
  int64_t rows = 0;
  int64_t width = 0;
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [s = Sizes(c), epsilon = static_cast<T>(c.attr<float>("epsilon")), in = c.in<T>("X"),
          scale = given<T>(c, "Scale"), bias = given<T>(c, "Bias"), out = c.out<T>("Y"),
          mean = c.out<T>("Mean"), variance = c.out<T>("Variance")] {
    const T* factor = scale ? scale.data() : nullptr;
    const T* shift = bias ? bias.data() : nullptr;
    parallel_for(s.rows, 8 * s.width, [&](int64_t row) {
      const T* x = in.data() + row * s.width;
      T* y = out.data() + row * s.width;
      const T n = static_cast<T>(s.width);
      T sum = 0, squares = 0;
      for (int64_t i = 0; i < s.width; ++i) sum += x[i];
      const T m = sum / n;
      for (int64_t i = 0; i < s.width; ++i) squares += (x[i] - m) * (x[i] - m);
      const T v = squares / n, unit = 1 / std::sqrt(v + epsilon);
      for (int64_t i = 0; i < s.width; ++i) {
        const T scaled = (x[i] - m) * unit * (factor != nullptr ? factor[i] : T{1});
        y[i] = scaled + (shift != nullptr ? shift[i] : T{0});
      }
      mean.data()[row] = m;
      variance.data()[row] = v;
    });
  };
};

// With g = dY * Scale and h = (X - Mean) / sqrt(Variance + epsilon):
//   dX = (g - mean(g) - h * mean(g * h)) / sqrt(Variance + epsilon)
//   dScale = sum of dY * h and dBias = sum of dY over the rows
constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [s = Sizes(c), epsilon = static_cast<T>(c.attr<float>("epsilon")), x = c.in<T>("X"),
          scale = given<T>(c, "Scale"), mean = c.in<T>("Mean"), variance = c.in<T>("Variance"),
          dy = c.in<T>("Y@GRAD"), dx = wanted<T>(c, "X@GRAD"), dscale = wanted<T>(c, "Scale@GRAD"),
          dbias = wanted<T>(c, "Bias@GRAD")] {
    const T* const factor = scale ? scale.data() : nullptr;
    const auto unit_of = [&](int64_t row) { return 1 / std::sqrt(variance.data()[row] + epsilon); };
    const auto to_input = [&](int64_t row) {
      const T *xs = x.data() + row * s.width, *gs = dy.data() + row * s.width;
      T* to = dx.data() + row * s.width;
      const T m = mean.data()[row], unit = unit_of(row);
      T sum = 0, dot = 0;
      for (int64_t i = 0; i < s.width; ++i) {
        const T g = gs[i] * (factor != nullptr ? factor[i] : T{1});
        sum += g;
        dot += g * (xs[i] - m) * unit;
      }
      const T n = static_cast<T>(s.width), mean_g = sum / n, mean_gh = dot / n;
      for (int64_t i = 0; i < s.width; ++i) {
        const T g = gs[i] * (factor != nullptr ? factor[i] : T{1});
        to[i] = (g - mean_g - (xs[i] - m) * unit * mean_gh) * unit;
      }
    };
    // Threads share out the columns, so that their number does not change the order of a sum.
    const auto to_parameters = [&](int64_t begin, int64_t end) {
      T *const of_scale = dscale ? dscale.data() : nullptr,
               *of_bias = dbias ? dbias.data() : nullptr;
      for (T* to : {of_scale, of_bias}) {
        if (to != nullptr) std::fill(to + begin, to + end, T{0});
      }
      for (int64_t row = 0; row < s.rows; ++row) {
        const T *xs = x.data() + row * s.width, *gs = dy.data() + row * s.width;
        const T m = mean.data()[row], unit = unit_of(row);
        for (int64_t i = begin; of_scale != nullptr && i < end; ++i) {
          of_scale[i] += gs[i] * (xs[i] - m) * unit;
        }
        for (int64_t i = begin; of_bias != nullptr && i < end; ++i) of_bias[i] += gs[i];
      }
    };
    if (dx) parallel_for(s.rows, 12 * s.width, to_input);
    const int64_t grain = kGrainOperations / (4 * s.rows + 1) + 16;
    if (dscale || dbias) parallel_ranges(s.width, grain, to_parameters);
  };
};

const OpDef& layer_norm = define_op({
    .type = "layer_norm",
    .doc = "Brings every sample to mean 0 and variance 1, then scales and shifts it.",
    .inputs =
        {{.name = "X", .doc = "tensor of rank 2 or more"},
         {.name = "Scale", .doc = "one factor for each element of a sample", .optional = true},
         {.name = "Bias", .doc = "one summand for each element of a sample", .optional = true}},
    .outputs = {{.name = "Y", .doc = "same shape and dtype as X"},
                {.name = "Mean", .doc = "of each sample", .no_grad = true},
                {.name = "Variance", .doc = "of each sample, biased", .no_grad = true}},
    .attrs = {{"epsilon", 1e-5f, "added to the variance"},
              {"begin_norm_axis", int32_t{1}, "the first axis that belongs to a sample"}},
    .infer = infer,
    .grad = grad_op({"X", "Scale", shape_of("Bias"), "Mean", "Variance"},
                    {.kernels = kernels_for<float, double>(backward),
                     .to_paddle = [](Block& b, size_t i) { ask_for_scale_and_bias(b, b.op(i)); }}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
