// flotilla/ops/loss/nll_loss.cu
//
// nll_loss on a GPU.

#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/fold.cuh"
#include "flotilla/ops/common/labels.cuh"
#include "flotilla/ops/common/optional_slots.h"

namespace flotilla::ops {
namespace {

// Label i belongs to image i / places at place i % places.
template <typename T>
struct Samples {
  int64_t count, classes, places, ignored;
  bool none, mean;  // the reduction
  Labels labels = {};
  const T* weights = nullptr;

  // The place of what label i chose in X; -1: it counts for nothing.
  __device__ int64_t chosen(int64_t i, int64_t label) const {
    const int64_t image = cuda::quotient(i, places);
    return label < 0 ? -1 : (image * classes + label) * places + (i - image * places);
  }
  __device__ T weight(int64_t label) const { return weights != nullptr ? weights[label] : T{1}; }
};

template <typename T>
class SampleSource {
 public:
  explicit SampleSource(PrepareContext& c)
      : samples_{.count = c.shape("Label").numel(),
                 .classes = c.shape("X")[1],
                 .places = c.shape("X").numel(2, c.shape("X").rank()),
                 .ignored = c.attr<int64_t>("ignore_index"),
                 .none = c.attr<std::string>("reduction") == "none",
                 .mean = c.attr<std::string>("reduction") == "mean"},
        labels_(c, "Label"),
        weights_(given<T>(c, "Weight")) {}

  Samples<T> get() const {
    Samples<T> samples = samples_;
    samples.labels = labels_.get();
    if (weights_) samples.weights = weights_.data();
    return samples;
  }

 private:
  Samples<T> samples_;
  GpuLabels labels_;
  In<T> weights_;
};

// Losses and weights are added up together.
struct Totals {
  double loss, weight;
};

struct AddTotals {
  template <typename>
  __device__ static Totals start() {
    return {0, 0};
  }
  __device__ static Totals fold(Totals a, Totals b) {
    return {a.loss + b.loss, a.weight + b.weight};
  }
};

template <typename T>
struct LoadTotals {
  Samples<T> samples;
  const T* x;
  T* each;  // null: only the sum is wanted
  __device__ Totals operator()(int64_t i, int64_t, int64_t) const {
    const int64_t label = samples.labels.counted(i, samples.classes, samples.ignored);
    const int64_t at = samples.chosen(i, label);
    if (each != nullptr) each[i] = T{0};
    if (at < 0) return {0, 0};
    const T weight = samples.weight(label), loss = -weight * x[at];
    if (each != nullptr) each[i] = loss;
    return {static_cast<double>(loss), static_cast<double>(weight)};
  }
};

template <typename T>
struct StoreTotals {
  bool none, mean;
  T *out, *weight;
  // As in Paddle, only a reduction tells the total.
  __device__ void operator()(int64_t, Totals totals) const {
    *weight = none ? T{0} : static_cast<T>(totals.weight);
    if (none) return;
    *out = static_cast<T>(mean && totals.weight != 0 ? totals.loss / totals.weight : totals.loss);
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const GpuFold fold({c.shape("Label").numel()}, {1});
  return [fold, source = SampleSource<T>(c), stream = c.around().stream, x = c.in<T>("X"),
          work = c.workspace<Totals>(fold.workspace()), out = c.out<T>("Out"),
          total = c.out<T>("Total_weight")] {
    const Samples<T> samples = source.get();
    fold.run<AddTotals, Totals>(
        stream, LoadTotals<T>{samples, x.data(), samples.none ? out.data() : nullptr},
        StoreTotals<T>{samples.none, samples.mean, out.data(), total.data()}, work.data());
  };
};

template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    backward_kernel(Samples<T> samples, const T* total, const T* dout, T* dx) {
  const int64_t at = cuda::thread_number();
  if (at >= samples.count * samples.classes) return;
  const int64_t row = cuda::quotient(at, samples.places);  // of an image and a class
  const int64_t image = cuda::quotient(row, samples.classes);
  const int64_t i = image * samples.places + (at - row * samples.places);
  const int64_t label = samples.labels.counted(i, samples.classes, samples.ignored);
  T slope = 0;
  if (label == row - image * samples.classes) {
    const T divisor = samples.mean && *total != 0 ? *total : T{1};
    slope = -samples.weight(label) * dout[samples.none ? i : 0] / divisor;
  }
  dx[at] = slope;
}

constexpr auto backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return [source = SampleSource<T>(c), stream = c.around().stream, total = c.in<T>("Total_weight"),
          dout = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
    const Samples<T> samples = source.get();
    cuda::launch_each(stream, samples.count * samples.classes, backward_kernel<T>, samples,
                      total.data(), dout.data(), dx.data());
  };
};

[[maybe_unused]] const bool kLoss =
    add_kernels("nll_loss", cuda_kernels_for<float, double>(forward)) &&
    add_kernels("nll_loss_grad", cuda_kernels_for<float, double>(backward));

}  // namespace
}  // namespace flotilla::ops
