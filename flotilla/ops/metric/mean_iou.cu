// flotilla/ops/metric/mean_iou.cu
//
// mean_iou on a GPU. Whole numbers are counted, in whatever order.

#include "flotilla/device/cuda/memory.h"
#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/fold.cuh"
#include "flotilla/ops/common/labels.cuh"

namespace flotilla::ops {
namespace {

// to[i] += from[i]
template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads) add_kernel(int64_t n, const T* from, T* to) {
  const int64_t i = cuda::thread_number();
  if (i < n) to[i] += from[i];
}

__global__ void __launch_bounds__(cuda::kGroupThreads)
    count_kernel(int64_t n, int64_t classes, Labels found, Labels right, int32_t* wrong,
                 int32_t* correct) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const int64_t label = right.counted(i, classes, -1), taken = found.counted(i, classes, -1);
  if (label < 0 || taken < 0) return;
  if (label == taken) {
    atomicAdd(correct + label, 1);
  } else {
    atomicAdd(wrong + label, 1);
    atomicAdd(wrong + taken, 1);
  }
}

struct Shares {
  double sum;
  int64_t occurring;
};

struct AddShares {
  template <typename>
  __device__ static Shares start() {
    return {0, 0};
  }
  __device__ static Shares fold(Shares a, Shares b) {
    return {a.sum + b.sum, a.occurring + b.occurring};
  }
};

struct LoadShare {
  const int32_t *wrong, *correct;
  __device__ Shares operator()(int64_t i, int64_t, int64_t) const {
    const int32_t all = wrong[i] + correct[i];
    if (all == 0) return {0, 0};
    return {static_cast<double>(correct[i]) / static_cast<double>(all), 1};
  }
};

struct StoreMean {
  float* mean;
  __device__ void operator()(int64_t, Shares shares) const {
    *mean = shares.occurring == 0
                ? 0.0f
                : static_cast<float>(shares.sum / static_cast<double>(shares.occurring));
  }
};

// What earlier batches counted, one number for each class.
std::vector<In<int32_t>> earlier(PrepareContext& c, std::string_view slot, int64_t classes) {
  std::vector<In<int32_t>> all;
  for (size_t i = 0; i < c.count(slot); ++i) {
    require(c.shape(slot, i).numel() == classes, "{} must hold {} numbers, but has shape {}", slot,
            classes, c.shape(slot, i));
    all.push_back(c.in<int32_t>(slot, i));
  }
  return all;
}

template <typename T>
void add_all(Stream stream, int64_t n, const std::vector<In<T>>& parts, T* to) {
  for (const In<T>& part : parts) {
    cuda::launch_each(stream, n, add_kernel<T>, n, part.data(), to);
  }
}

Step prepare(PrepareContext& c) {
  const int64_t classes = c.attr<int64_t>("num_classes"), count = c.shape("Labels").numel();
  const int64_t bytes = classes * static_cast<int64_t>(sizeof(int32_t));
  const GpuFold fold({classes}, {1});
  std::vector<In<float>> means;
  for (size_t i = 0; i < c.count("InMeanIou"); ++i) means.push_back(c.in<float>("InMeanIou", i));
  // Apart from the results, which may be the variables of the earlier counts.
  return [=, stream = c.around().stream, found = GpuLabels(c, "Predictions"),
          labels = GpuLabels(c, "Labels"), wrongs = earlier(c, "InWrongs", classes),
          corrects = earlier(c, "InCorrects", classes), counts = c.workspace<int32_t>(2 * classes),
          share = c.workspace<float>(1), work = c.workspace<Shares>(fold.workspace()),
          mean = c.out<float>("OutMeanIou"), wrong_out = c.out<int32_t>("OutWrong"),
          correct_out = c.out<int32_t>("OutCorrect")] {
    int32_t *const wrong = counts.data(), *const correct = wrong + classes;
    cuda::fill(wrong, 0, 2 * bytes, stream);
    add_all(stream, classes, wrongs, wrong);
    add_all(stream, classes, corrects, correct);
    cuda::launch_each(stream, count, count_kernel, count, classes, found.get(), labels.get(), wrong,
                      correct);
    fold.run<AddShares, Shares>(stream, LoadShare{wrong, correct}, StoreMean{share.data()},
                                work.data());
    add_all(stream, 1, means, share.data());
    cuda::copy(mean.data(), share.data(), sizeof(float), stream);
    cuda::copy(wrong_out.data(), wrong, bytes, stream);
    cuda::copy(correct_out.data(), correct, bytes, stream);
  };
}

[[maybe_unused]] const bool kMeanIou =
    add_kernels("mean_iou", {{kCuda, i64, prepare}, {kCuda, i32, prepare}});

}  // namespace
}  // namespace flotilla::ops
