// flotilla/ops/tensor/index_map.cu
//
// pad, pad2d, pad3d and roll on a GPU: a thread works out where an element comes from, or which
// elements took it.

#include "flotilla/device/cuda/each.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/gpu_kernels.h"
#include "flotilla/ops/tensor/index_map.h"

namespace flotilla::ops {
namespace {

struct MappedAxes {
  static constexpr int kMost = 12;

  AxisMap axis[kMost] = {};
  int rank = 0;
  int64_t from = 1, to = 1;  // elements of X and Out

  explicit MappedAxes(const AxisMaps& axes) {
    for (const AxisMap& map : axes) {
      from *= map.from;
      to *= map.to;
      if (rank > 0 && axis[rank - 1].keeps() && map.keeps()) {
        AxisMap& both = axis[rank - 1];
        both = {.from = both.from * map.from, .to = both.to * map.to};
        continue;
      }
      require(rank < kMost, "a border on a GPU lies around at most {} axes", kMost);
      axis[rank++] = map;
    }
  }

  // Where element `i` of Out comes from; -1: it is the constant.
  __device__ int64_t source_of(int64_t i) const {
    int64_t place = 0, stride = 1;
    for (int a = rank - 1; a >= 0; --a) {
      const int64_t rest = i / axis[a].to;
      const int64_t index = axis[a].of(i - rest * axis[a].to);
      if (index < 0) return -1;
      place += index * stride;
      stride *= axis[a].from;
      i = rest;
    }
    return place;
  }

  // Calls f with the place of each element of Out that took element `j` of X, in order.
  template <typename F>
  __device__ void for_each_taker(int64_t j, F f) const {
    int64_t index[kMost], own[kMost], stride[kMost];
    int64_t place = 0, width = 1;
    for (int a = rank - 1; a >= 0; --a) {
      const int64_t rest = j / axis[a].from;
      own[a] = j - rest * axis[a].from;
      index[a] = axis[a].next(own[a], -1);
      if (index[a] < 0) return;
      stride[a] = width;
      place += index[a] * width;
      width *= axis[a].to;
      j = rest;
    }
    while (true) {
      f(place);
      int a = rank - 1;
      for (; a >= 0; --a) {
        const int64_t next = axis[a].next(own[a], index[a]);
        const int64_t to_go = next < 0 ? axis[a].next(own[a], -1) : next;
        place += (to_go - index[a]) * stride[a];
        index[a] = to_go;
        if (next >= 0) break;
      }
      if (a < 0) return;
    }
  }
};

template <typename T>
struct TakeElement {
  MappedAxes axes;
  T constant;
  const T* x;
  T* out;

  __device__ void operator()(int64_t i) const {
    const int64_t place = axes.source_of(i);
    out[i] = place < 0 ? constant : x[place];
  }
};

template <typename T>
struct GiveElementBack {
  MappedAxes axes;
  const T* dout;
  T* dx;

  __device__ void operator()(int64_t j) const {
    T sum{0};
    axes.for_each_taker(j, [&](int64_t place) { sum += dout[place]; });
    dx[j] = sum;
  }
};

template <typename T>
Step take_on_gpu(PrepareContext& c, std::string_view in, std::string_view out, const AxisMaps& maps,
                 T constant) {
  return [axes = MappedAxes(maps), constant, stream = c.around().stream,
          processors = c.around().gpu->info().processors, from = c.in<T>(in), to = c.out<T>(out)] {
    cuda::each(stream, processors, axes.to, TakeElement<T>{axes, constant, from.data(), to.data()});
  };
}

template <typename T>
Step give_back_on_gpu(PrepareContext& c, std::string_view in, std::string_view out,
                      const AxisMaps& maps) {
  return [axes = MappedAxes(maps), stream = c.around().stream,
          processors = c.around().gpu->info().processors, from = c.in<T>(in), to = c.out<T>(out)] {
    cuda::each(stream, processors, axes.from, GiveElementBack<T>{axes, from.data(), to.data()});
  };
}

template <typename... T>
bool fill_takes() {
  ((gpu_index_moves<T>.take = take_on_gpu<T>), ...);
  return true;
}
[[maybe_unused]] const bool kFilled = [] {
  fill_takes<float, double, int32_t, int64_t, bool, uint8_t, int8_t, int16_t>();
  gpu_index_moves<float>.give_back = give_back_on_gpu<float>;
  gpu_index_moves<double>.give_back = give_back_on_gpu<double>;
  return true;
}();

[[maybe_unused]] const bool kBorders =
    add_as_on_cpu<float, double, int32_t, int64_t>({"pad", "pad2d", "pad3d"}) &&
    add_as_on_cpu<float, double>({"pad_grad", "pad2d_grad", "pad3d_grad", "roll_grad"}) &&
    add_as_on_cpu<float, double, int32_t, int64_t, bool, uint8_t, int8_t, int16_t>({"roll"});

}  // namespace
}  // namespace flotilla::ops
