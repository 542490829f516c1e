// flotilla/ops/tensor/fill.cu
//
// The operators that give every element the same value on a GPU; fill.cc defines them.

#include <string>

#include "flotilla/base/half.h"
#include "flotilla/device/cuda/map.cuh"
#include "flotilla/device/cuda/memory.h"
#include "flotilla/device/cuda/strided.h"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/gpu_kernels.h"
#include "flotilla/ops/tensor/written_constant.h"

namespace flotilla::ops {
namespace {

template <typename T>
Step fill_step(PrepareContext& c, const Constant& constant) {
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          n = c.shape("Out").numel(), element = narrow<T>(constant.as<Compute<T>>()),
          out = c.out<T>("Out")] {
    if (n > 0) cuda::fill_elements(stream, processors, out.data(), n, &element, sizeof(T));
  };
}

// A number that lies on the GPU.
template <typename T>
struct NumberThere {
  const void* data;
  DType dtype;

  __device__ T operator()() const {
    switch (dtype) {
      case DType::kBool:
        return as<bool>();
      case DType::kInt8:
        return as<int8_t>();
      case DType::kUint8:
        return as<uint8_t>();
      case DType::kInt16:
        return as<int16_t>();
      case DType::kInt32:
        return as<int32_t>();
      case DType::kInt64:
        return as<int64_t>();
      case DType::kF32:
        return as<float>();
      default:
        return as<double>();
    }
  }

 private:
  template <typename From>
  __device__ T as() const {
    return narrow<T>(*static_cast<const From*>(data));
  }
};

template <typename T>
Step prepare_constant(PrepareContext& c) {
  if (!c.has("ValueTensor")) return fill_step<T>(c, constant_in(c));
  const DType dtype = c.dtype("ValueTensor");
  visit_dtype(dtype, [](auto) {});  // refuses those that are not computed with
  c.bytes_of_any_dtype();
  return [stream = c.around().stream, processors = c.around().gpu->info().processors, dtype,
          n = c.shape("Out").numel(), value = c.in_bytes("ValueTensor"), out = c.out<T>("Out")] {
    cuda::map(stream, processors, n, NumberThere<T>{value.data(), dtype}, out.data());
  };
}

template <typename T>
Step prepare_batch_like(PrepareContext& c) {
  return fill_step<T>(c, constant_in(c));
}

template <typename T>
Step prepare_any_like(PrepareContext& c) {
  return fill_step<T>(c, constant_of(c.attr<float>("value")));
}

Step prepare_zeros(PrepareContext& c) {
  return [stream = c.around().stream, bytes = c.shape("Out").numel() * size_of(c.dtype("Out")),
          out = c.out_bytes("Out")] {
    if (bytes > 0) cuda::fill(out.data(), 0, bytes, stream);
  };
}

template <typename... T>
bool add_constants() {
  return add_kernels("fill_constant", {{kCuda, dtype_of<T>, prepare_constant<T>}...}) &&
         add_kernels("fill_constant_batch_size_like",
                     {{kCuda, dtype_of<T>, prepare_batch_like<T>}...}) &&
         add_kernels("fill_any", {{kCuda, dtype_of<T>, prepare_any_like<T>}...}) &&
         add_kernels("fill_any_like", {{kCuda, dtype_of<T>, prepare_any_like<T>}...});
}

bool add_zeros(std::initializer_list<const char*> types) {
  for (const char* type : types) add_kernels(type, gpu_kernels_of_every_dtype(prepare_zeros));
  return true;
}

[[maybe_unused]] const bool kAdded = add_constants<float, double, Half, BFloat16, int32_t, int64_t,
                                                   bool, uint8_t, int8_t, int16_t>() &&
                                     add_zeros({"fill_zeros_like", "fill_zeros_like2", "empty"});

}  // namespace
}  // namespace flotilla::ops
