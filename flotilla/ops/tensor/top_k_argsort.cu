// flotilla/ops/tensor/top_k_argsort.cu
//
// top_k, top_k_v2 and argsort on a GPU. The order is strict, because the place decides between
// equal elements, so that a result does not depend on who finds it.
//
// A few elements are found one after the other, each as the first of those behind the last one. For
// more, slices are sorted: runs of a block's length by counting, and then merged two by two.

#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/tensor/places.cuh"
#include "flotilla/ops/tensor/top_k.h"

namespace flotilla::ops {
namespace {

constexpr int64_t kMostFound = 32;  // above it slices are sorted
constexpr int kRun = cuda::kGroupThreads;

// Out may be null.
template <typename T>
struct Picked {
  GpuSlices slices;
  int64_t k;
  T* out;
  int64_t* indices;

  // Element j of a slice, which stands at `place` of it.
  __device__ void put(int64_t slice, int64_t j, int64_t place, const T* x) const {
    const int64_t outer = cuda::quotient(slice, slices.stride);
    const int64_t to = (outer * k + j) * slices.stride + (slice - outer * slices.stride);
    indices[to] = place;
    if (out != nullptr) out[to] = x[slices.begin(slice) + place * slices.stride];
  }
};

// ---- A few --------------------------------------------------------------------------------------

template <typename C>
struct Chosen {
  C value;
  int64_t at;  // -1: none
};

template <bool kLargest>
struct First {
  template <typename Acc>
  __device__ static Acc start() {
    return {0, -1};
  }
  template <typename C>
  __device__ static bool precedes(const Chosen<C>& a, const Chosen<C>& b) {
    if (before(a.value, b.value, kLargest)) return true;
    return !before(b.value, a.value, kLargest) && a.at < b.at;
  }
  template <typename C>
  __device__ static Chosen<C> fold(const Chosen<C>& a, const Chosen<C>& b) {
    if (a.at < 0) return b;
    return b.at < 0 || precedes(a, b) ? a : b;
  }
};

template <bool kLargest, typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    find_kernel(cuda::GroupShape shape, Picked<T> picked, const T* x) {
  using Best = Chosen<Compute<T>>;
  using Order = First<kLargest>;
  const GroupSlice slice(shape, picked.slices);
  Best last = Order::template start<Best>();
  for (int64_t j = 0; j < picked.k; ++j) {
    last = slice.fold<Order, Best>([&](int64_t at) {
      const Best found = {widen(x[at]), at};
      return last.at < 0 || Order::precedes(last, found) ? found : Order::template start<Best>();
    });
    if (!slice.leads()) continue;
    picked.put(slice.number(), j, cuda::quotient(last.at - slice.begin(), picked.slices.stride), x);
  }
}

// ---- Sorting ------------------------------------------------------------------------------------

template <typename T>
__device__ PlaceOrder<T> order_of(const GpuSlices& slices, int64_t slice, const T* x,
                                  bool largest) {
  return {x + slices.begin(slice), slices.stride, largest};
}

// Sorts the places of a run of a slice; block `runs` * slice + run does it.
template <typename T>
__global__ void __launch_bounds__(kRun)
    sort_run_kernel(GpuSlices slices, int64_t runs, bool largest, const T* x, int64_t* places) {
  __shared__ Compute<T> values[kRun];
  const int64_t slice = cuda::quotient(blockIdx.x, runs);
  const int64_t begin = (blockIdx.x - slice * runs) * kRun;
  const int thread = static_cast<int>(threadIdx.x);
  const int count = static_cast<int>(slices.n - begin < kRun ? slices.n - begin : kRun);
  if (thread < count) {
    values[thread] = widen(x[slices.begin(slice) + (begin + thread) * slices.stride]);
  }
  __syncthreads();
  if (thread >= count) return;
  const Compute<T> own = values[thread];
  int rank = 0;
  for (int i = 0; i < count; ++i) {
    const bool precedes =
        before(values[i], own, largest) || (i < thread && !before(own, values[i], largest));
    rank += precedes ? 1 : 0;
  }
  places[slice * slices.n + begin + rank] = begin + thread;
}

// Merges neighbouring runs of `length`: an element moves behind those of the other run that precede
// it, which are counted by bisection.
template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    merge_kernel(GpuSlices slices, int64_t length, bool largest, const T* x, const int64_t* from,
                 int64_t* to) {
  const int64_t element = cuda::thread_number();
  if (element >= slices.numel()) return;
  const int64_t slice = cuda::quotient(element, slices.n), at = element - slice * slices.n;
  const int64_t run = at / length, begin = run / 2 * 2 * length;
  const PlaceOrder<T> precedes = order_of(slices, slice, x, largest);
  const int64_t* const sorted = from + slice * slices.n;
  const int64_t place = sorted[at];
  const int64_t other = run % 2 == 0 ? begin + length : begin;
  const auto inside = [&](int64_t i) { return i < slices.n ? i : slices.n; };
  int64_t low = inside(other), high = inside(other + length);
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (precedes(sorted[middle], place)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const int64_t passed = low - inside(other), own = at - run * length;
  to[slice * slices.n + begin + own + passed] = place;
}

template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    put_kernel(Picked<T> picked, const int64_t* places, const T* x) {
  const int64_t i = cuda::thread_number();
  if (i >= picked.slices.count * picked.k) return;
  const int64_t slice = cuda::quotient(i, picked.k), j = i - slice * picked.k;
  picked.put(slice, j, places[slice * picked.slices.n + j], x);
}

// `work` holds two numbers for each element.
template <typename T>
void sort(Stream stream, const Picked<T>& picked, bool largest, const T* x, int64_t* work) {
  const GpuSlices& slices = picked.slices;
  const int64_t runs = (slices.n + kRun - 1) / kRun;
  int64_t *places = work, *other = work + slices.numel();
  cuda::launch_each(stream, slices.count * runs * kRun, sort_run_kernel<T>, slices, runs, largest,
                    x, places);
  for (int64_t length = kRun; length < slices.n; length *= 2) {
    cuda::launch_each(stream, slices.numel(), merge_kernel<T>, slices, length, largest, x, places,
                      other);
    std::swap(places, other);
  }
  cuda::launch_each(stream, slices.count * picked.k, put_kernel<T>, picked, places, x);
}

// ---- Kernels ------------------------------------------------------------------------------------

// Out and Indices hold k for each slice of X.
template <typename T>
Step pick(PrepareContext& c, int64_t axis, int64_t k, bool largest) {
  const GpuSlices slices = ops::slices(c.shape("X"), axis);
  const bool finds = k <= kMostFound;
  const bool wants_out = c.has("Out");
  return [=, stream = c.around().stream, in = c.in<T>("X"),
          out = wants_out ? c.out<T>("Out") : Out<T>(), indices = c.out<int64_t>("Indices"),
          work = c.workspace<int64_t>(finds ? 0 : 2 * slices.numel())] {
    const Picked<T> picked = {slices, k, wants_out ? out.data() : nullptr, indices.data()};
    if (!finds) return sort(stream, picked, largest, in.data(), work.data());
    const cuda::GroupShape groups = slices.groups();
    cuda::launch_groups(stream, slices.count, groups,
                        largest ? find_kernel<true, T> : find_kernel<false, T>, groups, picked,
                        in.data());
  };
}

constexpr auto forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const bool largest = !top_k_takes_axis(c) || c.attr<bool>("largest");
  return pick<T>(c, top_k_axis(c), known_int(c, kTopCount), largest);
};

constexpr auto argsort_forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const int64_t axis = c.attr<int64_t>("axis");
  return pick<T>(c, axis, slices(c.shape("X"), axis).n, c.attr<bool>("descending"));
};

constexpr auto backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const int64_t axis = top_k_axis(c);
  return gpu_give_back<T>(c, slices(c.shape("X"), axis), slices(c.shape("Indices"), axis).n);
};

template <typename F>
std::vector<Kernel> numbers(F kernel) {
  return cuda_kernels_for<float, double, int32_t, int64_t, Half, BFloat16>(kernel);
}

[[maybe_unused]] const bool kSorts = [] {
  for (const char* type : {"top_k", "top_k_v2"}) add_kernels(type, numbers(forward));
  for (const char* type : {"top_k_grad", "top_k_v2_grad", "argsort_grad"}) {
    add_kernels(type, numbers(backward));
  }
  return add_kernels("argsort", numbers(argsort_forward));
}();

}  // namespace
}  // namespace flotilla::ops
