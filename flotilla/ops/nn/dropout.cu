// flotilla/ops/nn/dropout.cu
//
// dropout on a GPU: the elements that the CPU would leave out, too.

#include "flotilla/device/cuda/each.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/nn/dropout.h"

namespace flotilla::ops {
namespace {

// A draw, and the four elements that it decides.
template <typename T>
struct DropFour {
  DropoutDraws draws;
  const RandomStream* stream = nullptr;
  const int32_t* seed = nullptr;  // instead
  int64_t n = 0;
  T scale = 0;
  const T* x = nullptr;
  T* y = nullptr;
  uint8_t* mask = nullptr;  // null: nobody asks

  __device__ void operator()(int64_t draw) const {
    const RandomStream from =
        seed != nullptr ? RandomStream{static_cast<uint64_t>(*seed), 0} : *stream;
    const DropoutDraws::Four four = draws.of(from, draw);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int64_t i = 4 * draw + j;
      if (i >= n) return;
      y[i] = four.stays[j] ? x[i] * scale : T{0};
      if (mask != nullptr) mask[i] = four.stays[j];
    }
  }
};

// mask == null: all stay.
template <typename T>
struct ScaleByMask {
  T scale = 0;
  const T* x = nullptr;
  const uint8_t* mask = nullptr;
  T* y = nullptr;

  __device__ void operator()(int64_t i) const {
    y[i] = mask == nullptr || mask[i] != 0 ? x[i] * scale : T{0};
  }
};

template <typename T>
struct KeepAll {
  T scale = 0;
  const T* x = nullptr;
  T* y = nullptr;
  uint8_t* mask = nullptr;

  __device__ void operator()(int64_t i) const {
    y[i] = x[i] * scale;
    if (mask != nullptr) mask[i] = 1;
  }
};

template <typename T>
Step forward(PrepareContext& c) {
  const int64_t n = c.shape("X").numel();
  const int processors = c.around().gpu->info().processors;
  const bool is_test = c.attr<bool>("is_test"), seeded = !is_test && c.has("Seed");
  const bool fixed = c.attr<bool>("fix_seed");
  c.in_place("X", "Out");
  const auto place_of = [](const auto& handle) { return handle ? handle.data() : nullptr; };
  return [=, stream = c.around().stream, scale = dropout_scale<T>(c),
          draws = DropoutDraws(c.attr<float>("dropout_prob")),
          seed = seeded ? c.in<int32_t>("Seed") : In<int32_t>(),
          random = is_test || seeded ? In<RandomStream>()
                                     : c.random_stream(fixed ? c.attr<int64_t>("seed") : 0),
          x = c.in<T>("X"), out = c.out<T>("Out"),
          mask = c.has("Mask") ? c.out<uint8_t>("Mask") : Out<uint8_t>()] {
    if (is_test) {
      const KeepAll<T> keep = {scale, x.data(), out.data(), place_of(mask)};
      cuda::each(stream, processors, n, keep);
      return;
    }
    const DropFour<T> drop = {.draws = draws,
                              .stream = place_of(random),
                              .seed = place_of(seed),
                              .n = n,
                              .scale = scale,
                              .x = x.data(),
                              .y = out.data(),
                              .mask = place_of(mask)};
    cuda::each(stream, processors, (n + 3) / 4, drop);
  };
}

template <typename T>
Step backward(PrepareContext& c) {
  const bool is_test = c.attr<bool>("is_test");
  c.in_place("Out@GRAD", "X@GRAD");
  return [n = c.shape("Out@GRAD").numel(), processors = c.around().gpu->info().processors,
          stream = c.around().stream, scale = dropout_scale<T>(c),
          mask = is_test ? In<uint8_t>() : c.in<uint8_t>("Mask"), dout = c.in<T>("Out@GRAD"),
          dx = c.out<T>("X@GRAD")] {
    const ScaleByMask<T> f = {scale, dout.data(), mask ? mask.data() : nullptr, dx.data()};
    cuda::each(stream, processors, n, f);
  };
}

[[maybe_unused]] const bool kAdded =
    add_kernels("dropout", {{kCuda, f32, forward<float>}, {kCuda, f64, forward<double>}}) &&
    add_kernels("dropout_grad", {{kCuda, f32, backward<float>}, {kCuda, f64, backward<double>}});

}  // namespace
}  // namespace flotilla::ops
