// flotilla/ops/nn/conv_loops.h
//
// The steps of convolutions, from images `src` to images `dst`: for conv2d from Input to Output,
// for conv2d_transpose the other way round. oneDNN runs f32; loops over everything run f64.

#pragma once

#include <algorithm>
#include <cstdint>

#include "flotilla/device/cpu/onednn.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/nn/conv_problem.h"

namespace flotilla::ops {

inline Step conv_step(PrepareContext& c, std::shared_ptr<onednn::ConvForward> conv, const char* src,
                      const char* dst) {
  const DataFormat format(c.attr<std::string>("data_format"));
  return [conv, x = c.in<float>(src, 0, format.program(conv->src(), 4)),
          w = c.in<float>("Filter", 0, conv->weights()),
          y = c.out<float>(dst, 0, format.program(conv->dst(), 4)),
          scratch = c.workspace(conv->scratch_bytes())] {
    conv->run(x.data(), w.data(), nullptr, y.data(), scratch.data());
  };
}

// What is a gradient of images for one is the way forward for the other.
inline Step conv_back_step(PrepareContext& c, std::shared_ptr<onednn::ConvBackwardData> conv,
                           const char* dst, const char* src) {
  const DataFormat format(c.attr<std::string>("data_format"));
  return [conv, y = c.in<float>(dst, 0, format.program(conv->dst(), 4)),
          w = c.in<float>("Filter", 0, conv->weights()),
          x = c.out<float>(src, 0, format.program(conv->src(), 4)),
          scratch = c.workspace(conv->scratch_bytes())] {
    conv->run(y.data(), w.data(), x.data(), scratch.data());
  };
}

inline Step conv_weights_step(PrepareContext& c, std::shared_ptr<onednn::ConvBackwardWeights> conv,
                              const char* src, const char* dst) {
  const DataFormat format(c.attr<std::string>("data_format"));
  return [conv, x = c.in<float>(src, 0, format.program(conv->src(), 4)),
          y = c.in<float>(dst, 0, format.program(conv->dst(), 4)),
          dw = c.out<float>("Filter@GRAD", 0, conv->weights()),
          scratch = c.workspace(conv->scratch_bytes())] {
    conv->run(x.data(), y.data(), dw.data(), nullptr, scratch.data());
  };
}

// Calls f(input index, filter index, output index) for every product of the output channels
// [begin, end).
template <typename F>
void for_products(const Image& in, const Image& out, const onednn::ConvProblem& p, int64_t begin,
                  int64_t end, F f) {
  const int64_t depth = p.weights[1], kh = p.weights[2], kw = p.weights[3];
  const int64_t filters_per_group = p.weights[0] / p.groups;
  for (int64_t o = begin; o < end; ++o) {
    for (int64_t n = 0; n < in.extents[0]; ++n) {
      for (int64_t y = 0; y < out.extents[2]; ++y) {
        for (int64_t x = 0; x < out.extents[3]; ++x) {
          for (int64_t k = 0; k < depth * kh * kw; ++k) {
            const int64_t channel = k / (kh * kw), ky = k / kw % kh, kx = k % kw;
            const int64_t iy = y * p.strides[0] + ky * p.dilations[0] - p.pads_begin[0];
            const int64_t ix = x * p.strides[1] + kx * p.dilations[1] - p.pads_begin[1];
            if (iy < 0 || iy >= in.extents[2] || ix < 0 || ix >= in.extents[3]) continue;
            f(in.at(n, o / filters_per_group * depth + channel, iy, ix), o * depth * kh * kw + k,
              out.at(n, o, y, x));
          }
        }
      }
    }
  }
}

// The indices of Input, Filter and of `result`, Output or its gradient. A transposed convolution is
// `turned`: its Input is what the problem has as its output.
struct ConvLoops {
  onednn::ConvProblem problem;
  Image input, output;
  bool turned;

  ConvLoops(const PrepareContext& c, onednn::ConvProblem p, const char* result, bool is_turned)
      : problem(std::move(p)),
        input(c.shape("Input"), DataFormat(c.attr<std::string>("data_format"))),
        output(c.shape(result), DataFormat(c.attr<std::string>("data_format"))),
        turned(is_turned) {}

  // Calls f(index of Input, of Filter, of Output) for every product of the filters [begin, end).
  template <typename F>
  void for_each(int64_t begin, int64_t end, F f) const {
    if (turned) {
      for_products(output, input, problem, begin, end,
                   [=](int64_t o, int64_t k, int64_t i) { f(i, k, o); });
    } else {
      for_products(input, output, problem, begin, end, f);
    }
  }
  template <typename F>
  void for_each(F f) const {
    for_each(0, problem.weights[0], f);
  }
};

inline Step conv_forward_f64(PrepareContext& c, onednn::ConvProblem problem, bool turned) {
  return [loops = ConvLoops(c, std::move(problem), "Output", turned), input = c.in<double>("Input"),
          filter = c.in<double>("Filter"), output = c.out<double>("Output")] {
    const double *x = input.data(), *w = filter.data();
    double* y = output.data();
    std::fill_n(y, loops.output.extents.numel(), 0.0);
    const auto add = [=](int64_t i, int64_t k, int64_t o) { y[o] += x[i] * w[k]; };
    if (loops.turned) return loops.for_each(add);
    // Filters write to channels of their own.
    parallel_ranges(loops.problem.weights[0], 1,
                    [&](int64_t begin, int64_t end) { loops.for_each(begin, end, add); });
  };
}

inline Step conv_backward_f64(PrepareContext& c, onednn::ConvProblem problem, bool turned) {
  return [loops = ConvLoops(c, std::move(problem), "Output@GRAD", turned),
          input = c.in<double>("Input"), filter = c.in<double>("Filter"),
          gradient = c.in<double>("Output@GRAD"),
          dinput = c.has("Input@GRAD") ? c.out<double>("Input@GRAD") : Out<double>(),
          dfilter = c.has("Filter@GRAD") ? c.out<double>("Filter@GRAD") : Out<double>()] {
    const double *x = input.data(), *w = filter.data(), *dy = gradient.data();
    if (dinput) {
      double* dx = dinput.data();
      std::fill_n(dx, loops.input.extents.numel(), 0.0);
      loops.for_each([=](int64_t i, int64_t k, int64_t o) { dx[i] += dy[o] * w[k]; });
    }
    if (dfilter) {
      double* dw = dfilter.data();
      std::fill_n(dw, loops.problem.weights.numel(), 0.0);
      loops.for_each([=](int64_t i, int64_t k, int64_t o) { dw[k] += dy[o] * x[i]; });
    }
  };
}

}  // namespace flotilla::ops
