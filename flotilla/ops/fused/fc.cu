// flotilla/ops/fused/fc.cu
//
// fc and its gradient on a GPU: cuBLASLt adds the bias, and rectifies; tanh and sigmoid follow in
// place. Small layers are one kernel of our own.

#include <algorithm>
#include <type_traits>

#include "flotilla/base/half.h"
#include "flotilla/device/cuda/map.cuh"
#include "flotilla/kernel/in_order.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/product.cuh"
#include "flotilla/ops/fused/fc_problem.h"
#include "flotilla/ops/fused/fc_small.cuh"

namespace flotilla::ops {
namespace {

FcAct act_of(const PrepareContext& c) { return fc_act_of(c.attr<std::string>("activation_type")); }

template <typename Formula>
struct Activate {
  template <typename T>
  FLT_FN T operator()(T x) const {
    return narrow<T>(Formula::f(widen(x), Params<float>()));
  }
};

// What k = 0 leaves of the product is the bias.
template <typename T>
__global__ void __launch_bounds__(cuda::kMapThreads)
    repeat_bias(int64_t count, int64_t columns, const T* bias, T* out) {
  const int64_t step = int64_t{gridDim.x} * cuda::kMapThreads;
  for (int64_t i = int64_t{blockIdx.x} * cuda::kMapThreads + threadIdx.x; i < count; i += step) {
    out[i] = bias[i % columns];
  }
}

// Out = Input W + Bias, rectified where that is wished.
template <typename T>
Step add_bias(PrepareContext& c, const FcSizes& s, bool relu, In<T> x, In<T> w, In<T> bias,
              Out<T> out) {
  if (s.m * s.n == 0) return [] {};
  const auto queue = static_cast<cudaStream_t>(c.around().stream.handle);
  if (s.k == 0) {
    return [=] {
      repeat_bias<<<1, cuda::kMapThreads, 0, queue>>>(s.m * s.n, s.n, bias.data(), out.data());
      cuda::check(cudaGetLastError(), "repeat a bias of {} elements", s.n);
    };
  }
  const auto plan = c.around().gpu->libraries()->blas().matmul(
      {.dtype = dtype_of<T>, .m = s.m, .n = s.n, .k = s.k, .bias = true, .relu = relu});
  const int64_t bytes = plan->scratch_bytes();
  return [=, scratch = bytes > 0 ? c.workspace(bytes) : Out<char>()] {
    plan->run(x.data(), w.data(), bias.data(), out.data(), scratch ? scratch.data() : nullptr);
  };
}

template <typename T>
Step forward(PrepareContext& c) {
  const FcSizes s = fc_sizes_of(c.shape("Input"), c.shape("W"), c);
  const FcAct act = act_of(c);
  const Stream stream = c.around().stream;
  const auto x = c.in<T>("Input"), w = c.in<T>("W"), bias = c.in<T>("Bias");
  const auto out = c.out<T>("Out");
  if constexpr (std::is_same_v<T, float>) {
    if (s.n == 1 || is_small_fc(s)) {
      return [=] { run_small_fc(stream, s, act, x.data(), w.data(), bias.data(), out.data()); };
    }
  }
  const bool relu = act == FcAct::kRelu && s.k > 0;
  const Step product = add_bias<T>(c, s, relu, x, w, bias, out);
  if (relu || act == FcAct::kNone) return product;
  return [=, processors = c.around().gpu->info().processors] {
    product();
    with_formula(act, [&]<typename Formula>(Formula) {
      cuda::map(stream, processors, s.m * s.n, Activate<Formula>(), out.data(),
                static_cast<const T*>(out.data()));
    });
  };
}

// ---- Gradient -----------------------------------------------------------------------------------

// Rows are cut into parts by the shape alone; a part's columns are summed up by lanes that take
// every kLanes-th row, and lanes and parts are added in order: the same bits each time.
constexpr int kColumns = 32, kLanes = 8;
constexpr int64_t kRowsOfPart = 128, kMostParts = 64;

int64_t parts_of(int64_t rows) {
  return std::clamp<int64_t>((rows + kRowsOfPart - 1) / kRowsOfPart, 1, kMostParts);
}

// d = dOut act'(Out), and its sums over the rows of each part. `d` may be null: not wanted.
template <typename Formula, typename T>
__global__ void __launch_bounds__(kColumns* kLanes)
    derive(int64_t m, int64_t n, const T* out, const T* dout, T* d, float* partial) {
  __shared__ float sums[kLanes][kColumns];
  const int64_t column = int64_t{blockIdx.x} * kColumns + threadIdx.x;
  const int64_t begin = m * blockIdx.y / gridDim.y, end = m * (blockIdx.y + 1) / gridDim.y;
  float sum = 0;
  if (column < n) {
    for (int64_t row = begin + threadIdx.y; row < end; row += kLanes) {
      const int64_t i = row * n + column;
      const T kept = narrow<T>(Formula::df(0.0f, widen(out[i]), widen(dout[i]), Params<float>()));
      if (d != nullptr) d[i] = kept;
      sum += widen(kept);
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= n) return;
  float all = 0;
  for (int lane = 0; lane < kLanes; ++lane) all += sums[lane][threadIdx.x];
  partial[blockIdx.y * n + column] = all;
}

template <typename T>
__global__ void __launch_bounds__(kColumns)
    add_parts(int64_t parts, int64_t n, const float* partial, T* sums) {
  const int64_t column = int64_t{blockIdx.x} * kColumns + threadIdx.x;
  if (column >= n) return;
  float sum = 0;
#pragma unroll 8
  for (int64_t part = 0; part < parts; ++part) sum += partial[part * n + column];
  sums[column] = narrow<T>(sum);
}

// The gradient of what the activation was given, and of the bias.
template <typename T>
Step derivative(PrepareContext& c, const FcSizes& s, FcAct act, In<T> out, In<T> dout, Out<T> d,
                Out<T> db) {
  const int64_t parts = parts_of(s.m);
  const auto blocks = static_cast<unsigned>((s.n + kColumns - 1) / kColumns);
  const dim3 grid(blocks, static_cast<unsigned>(parts));
  const auto queue = static_cast<cudaStream_t>(c.around().stream.handle);
  if (s.n == 0 || (!d && !db)) return {};
  // The sums of a single part are those of all.
  constexpr bool kSameType = std::is_same_v<T, float>;
  const bool in_parts = parts > 1 || !kSameType || !db;
  return [=, scratch = c.workspace<float>(in_parts ? parts * s.n : 0)] {
    float* partial = scratch.data();
    if constexpr (kSameType) partial = in_parts ? partial : db.data();
    with_formula(act, [&]<typename Formula>(Formula) {
      derive<Formula><<<grid, dim3(kColumns, kLanes), 0, queue>>>(s.m, s.n, out.data(), dout.data(),
                                                                  d ? d.data() : nullptr, partial);
    });
    cuda::check(cudaGetLastError(), "derive a layer of {} x {}", s.m, s.n);
    if (!db || !in_parts) return;
    add_parts<<<blocks, kColumns, 0, queue>>>(parts, s.n, partial, db.data());
    cuda::check(cudaGetLastError(), "sum up the gradient of {} biases", s.n);
  };
}

template <typename T>
Step backward(PrepareContext& c) {
  const FcSizes s = fc_sizes_of(c.shape("Input"), c.shape("W"), c);
  const FcAct act = act_of(c);
  const bool plain = act == FcAct::kNone;  // d is dOut itself
  const auto dout = c.in<T>("Out@GRAD");
  const In<T> out = plain ? dout : c.in<T>("Out");
  const Out<T> d = plain ? Out<T>() : c.workspace<T>(s.m * s.n);
  std::vector<Step> steps = {derivative<T>(c, s, act, out, dout, d, wanted<T>(c, "Bias@GRAD"))};
  const auto d_data = [=] { return plain ? dout.data() : d.data(); };
  if (c.has("Input@GRAD")) {
    const CudaProduct<T> product(
        c, {.m = s.m, .n = s.k, .k = s.n, .transpose_b = true, .count = s.m * s.k});
    steps.push_back([=, w = c.in<T>("W"), to = c.out<T>("Input@GRAD")] {
      product.run(d_data(), w.data(), to.data());
    });
  }
  if (c.has("W@GRAD")) {
    const CudaProduct<T> product(
        c, {.m = s.k, .n = s.n, .k = s.m, .transpose_a = true, .count = s.k * s.n});
    steps.push_back([=, x = c.in<T>("Input"), to = c.out<T>("W@GRAD")] {
      product.run(x.data(), d_data(), to.data());
    });
  }
  return in_order(std::move(steps));
}

[[maybe_unused]] const bool kForward = add_kernels(
    "fc",
    {{kCuda, f32, forward<float>}, {kCuda, f16, forward<Half>}, {kCuda, bf16, forward<BFloat16>}});
[[maybe_unused]] const bool kBackward =
    add_kernels("fused_fc_grad", {{kCuda, f32, backward<float>},
                                  {kCuda, f16, backward<Half>},
                                  {kCuda, bf16, backward<BFloat16>}});

}  // namespace
}  // namespace flotilla::ops
