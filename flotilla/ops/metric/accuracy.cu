// flotilla/ops/metric/accuracy.cu
//
// accuracy on a GPU.

#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/fold.cuh"
#include "flotilla/ops/common/fold_formulas.h"
#include "flotilla/ops/common/labels.cuh"

namespace flotilla::ops {
namespace {

struct LoadHit {
  Labels indices, labels;
  int64_t k;
  __device__ int32_t operator()(int64_t row, int64_t, int64_t) const {
    const int64_t label = labels[row];
    bool hit = false;
    for (int64_t i = 0; i < k; ++i) hit |= indices[row * k + i] == label;
    return hit ? 1 : 0;
  }
};

struct StoreShare {
  int64_t rows;
  float* accuracy;
  int32_t *correct, *total;
  __device__ void operator()(int64_t, int32_t hits) const {
    *correct = hits;
    *total = static_cast<int32_t>(rows);
    *accuracy = rows == 0 ? 0.0f : static_cast<float>(hits) / static_cast<float>(rows);
  }
};

Step prepare(PrepareContext& c) {
  const int64_t rows = c.shape("Indices")[0], k = c.shape("Indices")[1];
  const GpuFold fold({rows}, {1});
  return [=, stream = c.around().stream, indices = GpuLabels(c, "Indices"),
          labels = GpuLabels(c, "Label"), work = c.workspace<int32_t>(fold.workspace()),
          accuracy = c.out<float>("Accuracy"), correct = c.out<int32_t>("Correct"),
          total = c.out<int32_t>("Total")] {
    fold.run<SumFold, int32_t>(stream, LoadHit{indices.get(), labels.get(), k},
                               StoreShare{rows, accuracy.data(), correct.data(), total.data()},
                               work.data());
  };
}

// The kernel is chosen by Out, whose elements it does not read.
[[maybe_unused]] const bool kAccuracy = add_kernels(
    "accuracy",
    {{kCuda, f32, prepare}, {kCuda, f64, prepare}, {kCuda, f16, prepare}, {kCuda, bf16, prepare}});

}  // namespace
}  // namespace flotilla::ops
