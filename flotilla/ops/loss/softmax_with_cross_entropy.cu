// flotilla/ops/loss/softmax_with_cross_entropy.cu
//
// softmax_with_cross_entropy on a GPU.

#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/labels.cuh"
#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/softmax_rows.cuh"

namespace flotilla::ops {
namespace {

// What both ways need to know. Labels are class numbers, or, where they are soft, chances.
template <typename T>
struct Task {
  GpuSlices slices;
  int64_t ignored = 0;
  bool soft = false, use_softmax = true;
  Labels labels = {};
  const T* chances = nullptr;
};

template <typename T>
class TaskSource {
 public:
  TaskSource(PrepareContext& c, const char* x)
      : task_{.slices = slices(c.shape(x), c.attr<int64_t>("axis")),
              .ignored = c.attr<int64_t>("ignore_index"),
              .soft = c.attr<bool>("soft_label"),
              .use_softmax = c.attr<bool>("use_softmax")},
        labels_(task_.soft ? GpuLabels() : GpuLabels(c, "Label")),
        chances_(task_.soft ? c.in<T>("Label") : In<T>()) {}

  Task<T> get() const {
    Task<T> task = task_;
    task.labels = labels_.get();
    if (chances_) task.chances = chances_.data();
    return task;
  }

 private:
  Task<T> task_;
  GpuLabels labels_;
  In<T> chances_;
};

template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    forward_kernel(cuda::GroupShape shape, Task<T> task, const T* x, T* p, T* loss) {
  using C = Compute<T>;
  const GroupSlice slice(shape, task.slices);
  const auto write = [&](const auto& chance_of) {
    slice.each([&](int64_t at) { p[at] = narrow<T>(chance_of(widen(x[at]))); });
    if (task.soft) {
      const C sum = slice.fold<SumFold, C>([&](int64_t at) {
        const C q = widen(task.chances[at]);
        return q == 0 ? C{0} : q * minus_log(chance_of(widen(x[at])));
      });
      if (slice.leads()) loss[slice.number()] = narrow<T>(sum);
    } else if (slice.leads()) {
      const int64_t label = task.labels.counted(slice.number(), task.slices.n, task.ignored);
      const int64_t at = slice.begin() + label * task.slices.stride;
      loss[slice.number()] = narrow<T>(label < 0 ? C{0} : minus_log(chance_of(widen(x[at]))));
    }
  };
  if (task.use_softmax) {
    const SoftmaxOf<C> softmax(slice, x);
    write([&](C value) { return softmax.chance(value); });
  } else {
    write([](C value) { return value; });
  }
}

// With softmax: dLogits = (Softmax - label) * dLoss; without: dLogits = -label / p * dLoss.
template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    backward_kernel(Task<T> task, const T* p, const T* dloss, T* dx) {
  using C = Compute<T>;
  const int64_t element = cuda::thread_number();
  if (element >= task.slices.numel()) return;
  const GpuSlices::Place place = task.slices.place(element);
  const C d = widen(dloss[place.slice]), chance = widen(p[element]);
  C slope = 0;
  if (task.soft) {
    const C q = widen(task.chances[element]);
    slope = (task.use_softmax ? chance - q : -q / chance) * d;
  } else {
    const int64_t label = task.labels.counted(place.slice, task.slices.n, task.ignored);
    if (label == place.i) {
      slope = (task.use_softmax ? chance - 1 : -1 / chance) * d;
    } else if (label >= 0 && task.use_softmax && d != 0) {
      slope = chance * d;
    }
  }
  dx[element] = narrow<T>(slope);
}

constexpr auto forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return [source = TaskSource<T>(c, "Logits"), stream = c.around().stream, x = c.in<T>("Logits"),
          p = c.out<T>("Softmax"), loss = c.out<T>("Loss")] {
    const Task<T> task = source.get();
    const cuda::GroupShape groups = task.slices.groups();
    cuda::launch_groups(stream, task.slices.count, groups, forward_kernel<T>, groups, task,
                        x.data(), p.data(), loss.data());
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  c.in_place("Softmax", "Logits@GRAD");
  return [source = TaskSource<T>(c, "Softmax"), stream = c.around().stream, p = c.in<T>("Softmax"),
          dloss = c.in<T>("Loss@GRAD"), dx = c.out<T>("Logits@GRAD")] {
    const Task<T> task = source.get();
    cuda::launch_each(stream, task.slices.numel(), backward_kernel<T>, task, p.data(), dloss.data(),
                      dx.data());
  };
};

[[maybe_unused]] const bool kLoss =
    add_kernels("softmax_with_cross_entropy", cuda_floats(forward)) &&
    add_kernels("softmax_with_cross_entropy_grad", cuda_floats(backward));

}  // namespace
}  // namespace flotilla::ops
