// flotilla/ops/tensor/cast.cu
//
// cast on a GPU, of the 16-bit floats too; cast.cc defines it.

#include <type_traits>

#include "flotilla/base/half.h"
#include "flotilla/device/cuda/map.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/dense_order.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

// Floats are cut off towards zero; what a short integer cannot hold loses its upper bits, as on a
// CPU.
template <typename To>
struct Converted {
  template <typename From>
  __device__ To operator()(From from) const {
    const auto x = widen(from);
    if constexpr (std::is_same_v<To, bool>) {
      return x != 0;
    } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<Compute<From>>) {
      return static_cast<To>(static_cast<int64_t>(x));
    } else {
      return narrow<To>(x);
    }
  }
};

template <typename From, typename To>
Step convert(PrepareContext& c, const Layout& layout) {
  if constexpr (sizeof(To) == sizeof(From)) c.in_place("X", "Out");
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          n = c.shape("X").numel(), in = c.in<From>("X", 0, layout),
          out = c.out<To>("Out", 0, layout)] {
    cuda::map(stream, processors, n, Converted<To>{}, out.data(), in.data());
  };
}

template <typename From>
Step forward(PrepareContext& c) {
  const DType to = c.dtype("Out");
  const Layout layout = dense_order(c.layout("X"));
  if (to == c.dtype("X")) return pass_through(c, "X", "Out", layout);
  if (to == f16) return convert<From, Half>(c, layout);
  if (to == bf16) return convert<From, BFloat16>(c, layout);
  return visit_dtype(
      to, [&](auto element) -> Step { return convert<From, decltype(element)>(c, layout); });
}

[[maybe_unused]] const bool kAdded = add_kernels("cast", {{kCuda, f32, forward<float>},
                                                          {kCuda, f64, forward<double>},
                                                          {kCuda, f16, forward<Half>},
                                                          {kCuda, bf16, forward<BFloat16>},
                                                          {kCuda, i32, forward<int32_t>},
                                                          {kCuda, i64, forward<int64_t>},
                                                          {kCuda, boolean, forward<bool>},
                                                          {kCuda, u8, forward<uint8_t>},
                                                          {kCuda, i8, forward<int8_t>},
                                                          {kCuda, i16, forward<int16_t>}});

}  // namespace
}  // namespace flotilla::ops
