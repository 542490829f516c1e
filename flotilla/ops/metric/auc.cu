// flotilla/ops/metric/auc.cu
//
// auc on a GPU: histograms of whole numbers, counted in whatever order, and one block that adds up
// the area.

#include "flotilla/device/cuda/memory.h"
#include "flotilla/device/cuda/reduce.cuh"
#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/labels.cuh"
#include "flotilla/ops/common/optional_slots.h"

namespace flotilla::ops {
namespace {

// The parts of StatPos or StatNeg, as auc.cc describes them.
struct Histogram {
  int64_t* stat;
  int64_t buckets, slide;

  __device__ int64_t* totals() const { return stat + slide * buckets; }
  // Of this run; null where there is no window.
  __device__ int64_t* counts() const {
    if (slide == 0) return nullptr;
    const int64_t run = *runs();
    return stat + (run > 0 ? run : 0) % slide * buckets;
  }
  __device__ int64_t* runs() const { return stat + (slide + 1) * buckets; }
};

// Makes room for the counts of this run.
__global__ void __launch_bounds__(cuda::kGroupThreads) forget_kernel(Histogram histogram) {
  const int64_t i = cuda::thread_number();
  if (i >= histogram.buckets) return;
  int64_t* const counts = histogram.counts();
  histogram.totals()[i] -= counts[i];
  counts[i] = 0;
}

__device__ void count(int64_t* bucket) {
  atomicAdd(reinterpret_cast<unsigned long long*>(bucket), 1ull);
}

// `weight`: null, or a single one that is zero for a batch that stands in for none.
template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    count_kernel(int64_t rows, int64_t width, const T* predict, Labels labels, const float* weight,
                 Histogram positive, Histogram negative) {
  const int64_t row = cuda::thread_number();
  if (row >= rows || (weight != nullptr && *weight == 0)) return;
  const T p = predict[row * width + width - 1];
  if (!(p >= 0 && p <= 1)) return;
  const Histogram& histogram = labels[row] != 0 ? positive : negative;
  const auto bucket = static_cast<int64_t>(p * static_cast<T>(histogram.buckets - 1));
  count(histogram.totals() + bucket);
  if (int64_t* const counts = histogram.counts()) count(counts + bucket);
}

// Trapezoids from the highest bucket down; zero where one class is missing. Each thread adds up
// neighbouring buckets. Sums of whole and half numbers are exact, so that their order is free.
__global__ void __launch_bounds__(cuda::kGroupThreads)
    area_kernel(Histogram positive, Histogram negative, double* auc) {
  __shared__ double before[cuda::kGroupThreads], parts[cuda::kGroupThreads];
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t buckets = positive.buckets;
  const int64_t each = (buckets + cuda::kGroupThreads - 1) / cuda::kGroupThreads;
  const int64_t from = buckets - thread * each;  // exclusive
  const int64_t to = from > each ? from - each : 0;
  const int64_t *const p = positive.totals(), *const n = negative.totals();
  double positives = 0, negatives = 0, sum = 0;
  for (int64_t i = from; i-- > to;) positives += static_cast<double>(p[i]);
  before[thread] = positives;
  __syncthreads();
  double reached = 0;
  for (int t = 0; t < thread; ++t) reached += before[t];
  for (int64_t i = from; i-- > to;) {
    const double last = reached;
    reached += static_cast<double>(p[i]);
    negatives += static_cast<double>(n[i]);
    sum += static_cast<double>(n[i]) * (reached + last) / 2;
  }
  parts[thread] = sum;
  __syncthreads();
  if (thread == cuda::kGroupThreads - 1) positives = reached;
  sum = 0;
  for (int t = 0; t < cuda::kGroupThreads; ++t) sum += parts[t];
  __syncthreads();
  parts[thread] = negatives;
  __syncthreads();
  if (thread != cuda::kGroupThreads - 1) return;
  negatives = 0;
  for (int t = 0; t < cuda::kGroupThreads; ++t) negatives += parts[t];
  *auc = positives > 0 && negatives > 0 ? sum / (positives * negatives) : 0.0;
  if (positive.slide == 0) return;
  for (const Histogram& histogram : {positive, negative}) {
    int64_t* const runs = histogram.runs();
    *runs = (*runs > 0 ? *runs : 0) + 1;
  }
}

constexpr auto prepare = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const int64_t rows = c.shape("Predict")[0], width = c.shape("Predict")[1];
  const int64_t buckets = c.attr<int64_t>("num_thresholds") + 1;
  const int64_t slide = c.attr<int64_t>("slide_steps");
  const auto bytes_of = [&](const char* slot) {
    return c.shape(slot).numel() * static_cast<int64_t>(sizeof(int64_t));
  };
  const bool weighted = c.has("InsTagWeight") && c.shape("InsTagWeight").numel() == 1;
  c.in_place("StatPos", "StatPosOut");
  c.in_place("StatNeg", "StatNegOut");
  return
      [=, stream = c.around().stream, predict = c.in<T>("Predict"), labels = GpuLabels(c, "Label"),
       weight = given<float>(c, "InsTagWeight"), pos_bytes = bytes_of("StatPos"),
       neg_bytes = bytes_of("StatNeg"), pos = c.in<int64_t>("StatPos"),
       pos_out = c.out<int64_t>("StatPosOut"), neg = c.in<int64_t>("StatNeg"),
       neg_out = c.out<int64_t>("StatNegOut"), auc = c.out<double>("AUC")] {
        if (pos.data() != pos_out.data()) cuda::copy(pos_out.data(), pos.data(), pos_bytes, stream);
        if (neg.data() != neg_out.data()) cuda::copy(neg_out.data(), neg.data(), neg_bytes, stream);
        const Histogram positive = {pos_out.data(), buckets, slide};
        const Histogram negative = {neg_out.data(), buckets, slide};
        if (slide > 0) {
          cuda::launch_each(stream, buckets, forget_kernel, positive);
          cuda::launch_each(stream, buckets, forget_kernel, negative);
        }
        cuda::launch_each(stream, rows, count_kernel<T>, rows, width, predict.data(), labels.get(),
                          weighted ? weight.data() : nullptr, positive, negative);
        area_kernel<<<1, cuda::kGroupThreads, 0, cuda::native(stream)>>>(positive, negative,
                                                                         auc.data());
        cuda::check(cudaGetLastError(), "launch the area of {} buckets", buckets);
      };
};

[[maybe_unused]] const bool kAuc = add_kernels("auc", cuda_kernels_for<float, double>(prepare));

}  // namespace
}  // namespace flotilla::ops
