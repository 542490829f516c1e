// flotilla/ops/nn/conv.cuh
//
// The steps of convolutions on a GPU, from images `src` to images `dst`, as in conv_loops.h. cuDNN
// runs them on images and filters whose channels lie innermost; our own loops run f64, and what
// cuDNN has no algorithm for.

#pragma once

#include <memory>
#include <type_traits>

#include "flotilla/device/cuda/dnn.h"
#include "flotilla/device/cuda/libraries.h"
#include "flotilla/device/cuda/memory.h"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/nn/conv_direct.cuh"

namespace flotilla::ops {

using cuda::Convolution;

// What a step reads and writes, in the order of Convolution::Direction.
struct ConvSlots {
  const char* first = "";
  const char* second = "";
  const char* result = "";
};

// The same convolution with as much padding behind the images as before them, where that changes
// nothing: what lies behind the last window is not looked at. More algorithms can do that.
inline onednn::ConvProblem with_even_padding(onednn::ConvProblem p) {
  for (size_t a = 0; a < p.strides.size(); ++a) {
    const auto axis = static_cast<int64_t>(a) + 2;
    const Window w = {.size = p.weights[axis],
                      .stride = p.strides[a],
                      .dilation = p.dilations[a],
                      .pad_begin = p.pads_begin[a],
                      .pad_end = p.pads_begin[a]};
    if (w.places(p.src[axis]) == p.dst[axis]) p.pads_end[a] = p.pads_begin[a];
  }
  return p;
}

// Channels innermost, for a variable of the program; what lies the same in memory is taken as it
// is.
inline Layout innermost_channels(const PrepareContext& c, const char* slot, bool reads) {
  const std::string name = slot;
  const bool filter = name.starts_with("Filter");
  const DataFormat format(filter ? std::string("NCHW") : c.attr<std::string>("data_format"));
  const Layout wanted = format.program(Layout({0, 2, 3, 1}, {}), 4);
  const Shape shape = format.first(c.shape(slot));
  if (shape[1] != 1 && shape[2] * shape[3] != 1) return wanted;
  const Layout other = format.program(Layout(), 4);
  if (!reads) return Layout();
  return c.layout(slot) == other ? other : wanted;
}

template <typename T>
Step cudnn_step(PrepareContext& c, std::shared_ptr<const cuda::ConvolutionPlan> plan,
                const ConvSlots& slots) {
  const auto read = [&](const char* slot) {
    return c.in<T>(slot, 0, innermost_channels(c, slot, true));
  };
  const int64_t bytes = plan->scratch_bytes();
  return [plan, first = read(slots.first), second = read(slots.second),
          result = c.out<T>(slots.result, 0, innermost_channels(c, slots.result, false)),
          scratch = bytes > 0 ? c.workspace(bytes) : Out<char>()] {
    plan->run(first.data(), second.data(), result.data(), scratch ? scratch.data() : nullptr);
  };
}

template <typename T>
Step direct_step(PrepareContext& c, const onednn::ConvProblem& p, Convolution::Direction direction,
                 const ConvSlots& slots) {
  const DirectConv g(p, DataFormat(c.attr<std::string>("data_format")));
  const auto queue = static_cast<cudaStream_t>(c.around().stream.handle);
  const int64_t count = c.shape(slots.result).numel();
  const unsigned blocks = conv_blocks(count, c.around().gpu->info().processors);
  return [=, first = c.in<T>(slots.first), second = c.in<T>(slots.second),
          result = c.out<T>(slots.result)] {
    const T *a = first.data(), *b = second.data();
    T* to = result.data();
    switch (direction) {
      case Convolution::kForward:
        conv_forward<<<blocks, kConvThreads, 0, queue>>>(g, count, a, b, to);
        break;
      case Convolution::kSourceGradient:
        conv_source_gradient<<<blocks, kConvThreads, 0, queue>>>(g, count, a, b, to);
        break;
      case Convolution::kFilterGradient:
        conv_filter_gradient<<<static_cast<unsigned>(count), kConvThreads, 0, queue>>>(g, a, b, to);
        break;
    }
    cuda::check(cudaGetLastError(), "convolve to {} elements", count);
  };
}

template <typename T>
Step cuda_conv(PrepareContext& c, const onednn::ConvProblem& problem,
               Convolution::Direction direction, const ConvSlots& slots) {
  if (problem.src.numel() * problem.weights.numel() * problem.dst.numel() == 0) {
    return [bytes = c.shape(slots.result).numel() * static_cast<int64_t>(sizeof(T)),
            stream = c.around().stream, result = c.out<T>(slots.result)] {
      if (bytes > 0) cuda::fill(result.data(), 0, bytes, stream);
    };
  }
  if constexpr (!std::is_same_v<T, double>) {
    const auto plan = c.around().gpu->libraries()->dnn().convolution(
        {.problem = with_even_padding(problem), .direction = direction, .dtype = dtype_of<T>});
    if (plan != nullptr) return cudnn_step<T>(c, plan, slots);
  }
  return direct_step<T>(c, problem, direction, slots);
}

}  // namespace flotilla::ops
