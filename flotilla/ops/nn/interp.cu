// flotilla/ops/nn/interp.cu
//
// Images of another size on a GPU, axis after axis.

#include "flotilla/device/cuda/each.cuh"
#include "flotilla/device/cuda/memory.h"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/gpu_kernels.h"
#include "flotilla/ops/nn/interp.h"

namespace flotilla::ops {
namespace {

template <typename T>
struct MixElement {
  ResizedAxis axis;
  const T* in;
  T* out;

  __device__ void operator()(int64_t at) const {
    const int64_t line = at / axis.inner, column = at - line * axis.inner;
    const int64_t outer = line / axis.mixer.to;
    const Mix mix = axis.mixer.at(line - outer * axis.mixer.to);
    T sum{0};
    for (int64_t m = 0; m < mix.count; ++m) {
      const int64_t from = outer * axis.mixer.from + mix.at[m];
      sum += in[from * axis.inner + column] * static_cast<T>(mix.share[m]);
    }
    out[at] = sum;
  }
};

// The shares of an element in all that was mixed from it, in their order.
template <typename T>
struct GiveShares {
  ResizedAxis axis;
  const T* in;
  T* out;

  __device__ void operator()(int64_t at) const {
    const int64_t line = at / axis.inner, column = at - line * axis.inner;
    const int64_t outer = line / axis.mixer.from, own = line - outer * axis.mixer.from;
    T sum{0};
    for (int64_t k = first_mixed_from(own); k < axis.mixer.to; ++k) {
      if (axis.mixer.first_of(k) > own) break;
      const Mix mix = axis.mixer.at(k);
      for (int64_t m = 0; m < mix.count; ++m) {
        if (mix.at[m] != own) continue;
        const int64_t to = outer * axis.mixer.to + k;
        sum += in[to * axis.inner + column] * static_cast<T>(mix.share[m]);
      }
    }
    out[at] = sum;
  }

 private:
  __device__ int64_t first_mixed_from(int64_t own) const {
    int64_t low = 0, high = axis.mixer.to;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (axis.mixer.last_of(middle) >= own) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};

template <typename T>
Step resize(PrepareContext& c, const std::vector<ResizedAxis>& axes, bool back) {
  std::vector<Out<T>> to;
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    to.push_back(c.workspace<T>(back ? axes[i].before() : axes[i].after()));
  }
  const std::string_view result = back ? "X@GRAD" : "Out";
  to.push_back(c.out<T>(result));
  return [axes, back, to = std::move(to), stream = c.around().stream,
          processors = c.around().gpu->info().processors,
          bytes = c.shape(result).numel() * static_cast<int64_t>(sizeof(T)),
          in = c.in<T>(back ? "Out@GRAD" : "X")] {
    if (axes.empty()) cuda::fill(to.back().data(), 0, bytes, stream);
    const T* from = in.data();
    for (size_t i = 0; i < axes.size(); ++i) {
      T* const out = to[i].data();
      if (back) {
        cuda::each(stream, processors, axes[i].before(), GiveShares<T>{axes[i], from, out});
      } else {
        cuda::each(stream, processors, axes[i].after(), MixElement<T>{axes[i], from, out});
      }
      from = out;
    }
  };
}

[[maybe_unused]] const bool kFilled = [] {
  gpu_resize<float> = resize<float>;
  gpu_resize<double> = resize<double>;
  return true;
}();

[[maybe_unused]] const bool kResizes = [] {
  for (const std::string method : {"nearest", "linear", "bilinear", "trilinear", "bicubic"}) {
    for (const char* form : {"_interp", "_interp_grad", "_interp_v2", "_interp_v2_grad"}) {
      add_as_on_cpu<float, double>({(method + form).c_str()});
    }
  }
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
