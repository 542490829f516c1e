// flotilla/ops/optim/parameters.cuh
//
// The parameters of an op as a kernel on a GPU sees them: a table of addresses, given to it by
// value. A launch takes as many parameters as a table holds, and blocks of threads share out their
// elements in pieces of one length.

#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "flotilla/device/cuda/check.h"
#include "flotilla/device/cuda/map.cuh"
#include "flotilla/device/cuda/memory.h"
#include "flotilla/ops/optim/numbers.h"
#include "flotilla/ops/optim/tensors.h"

namespace flotilla::ops {

inline constexpr int kUpdateThreads = 256;
inline constexpr int kMostTensors = 3;    // settings of an op that come from tensors
inline constexpr int kMostTogether = 32;  // parameters in a launch: a table of about 4 KiB

// One parameter, where it lies in this run.
template <typename T, int kStates>
struct Placed {
  T* param = nullptr;
  const T* grad = nullptr;
  T* work = nullptr;
  T* states[kStates > 0 ? kStates : 1] = {};  // null: switched off
  int64_t size = 0;
  int64_t first = 0;   // its first block
  bool packs = false;  // whether all addresses are multiples of 16
  NumberAt lr = {};
  NumberAt powers[update::kMaxPowers] = {};
  T* powers_out[update::kMaxPowers] = {};
  T l2 = 0;
  T own = 0;  // its number of the setting that holds one for each parameter
};

template <typename T, int kStates, int kMost>
struct ParameterTable {
  Placed<T, kStates> placed[kMost] = {};
  int count = 0;
  int64_t blocks = 0;
  int64_t piece = 0;  // elements of a block
  update::Numbers<T> known = {};
  int own = -1;                                  // setting
  int from_tensor[kMostTensors] = {-1, -1, -1};  // settings
  NumberAt tensors[kMostTensors] = {};
  const bool* skip = nullptr;
  bool keeps_powers = false;
  int bases[update::kMaxPowers] = {};

  __device__ bool skips() const { return skip != nullptr && *skip; }

  // Which parameter a block works at.
  __device__ int which(int64_t block) const {
    int low = 0, high = count - 1;
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (placed[middle].first <= block) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  __device__ update::Numbers<T> numbers(const Placed<T, kStates>& p) const {
    update::Numbers<T> n = known;
    if (p.lr.place != nullptr) n.lr = p.lr.template get<double>();
    n.l2 = p.l2;
#pragma unroll
    for (int k = 0; k < static_cast<int>(update::kMaxPowers); ++k) {
      if (p.powers[k].place != nullptr) n.powers[k] = p.powers[k].template get<T>();
    }
#pragma unroll
    for (int s = 0; s < static_cast<int>(update::kMaxSettings); ++s) {
      if (s == own) n.settings[s] = p.own;
#pragma unroll
      for (int t = 0; t < kMostTensors; ++t) {
        if (s == from_tensor[t]) n.settings[s] = tensors[t].template get<T>();
      }
    }
    return n;
  }
};

template <typename F, typename T, size_t... S>
__device__ void apply_formula(const F& f, T& param, T grad, T* states, std::index_sequence<S...>) {
  f(param, grad, states[S]...);
}

// N elements from `i` on, which all lie at multiples of their size.
template <int N, int kUsed, typename F, typename T, int kStates>
__device__ void change(const F& f, const Placed<T, kStates>& p, int64_t i,
                       const cuda::Pack<T, N>& grad) {
  using Some = cuda::Pack<T, N>;
  Some param = *reinterpret_cast<const Some*>(p.param + i);
  Some states[kUsed > 0 ? kUsed : 1] = {};
#pragma unroll
  for (int s = 0; s < kUsed; ++s) {
    if (p.states[s] != nullptr) states[s] = *reinterpret_cast<const Some*>(p.states[s] + i);
  }
#pragma unroll
  for (int lane = 0; lane < N; ++lane) {
    T here[kUsed > 0 ? kUsed : 1];
#pragma unroll
    for (int s = 0; s < kUsed; ++s) here[s] = states[s].lane[lane];
    apply_formula(f, param.lane[lane], grad.lane[lane], here, std::make_index_sequence<kUsed>());
#pragma unroll
    for (int s = 0; s < kUsed; ++s) states[s].lane[lane] = here[s];
  }
  *reinterpret_cast<Some*>(p.param + i) = param;
#pragma unroll
  for (int s = 0; s < kUsed; ++s) {
    if (p.states[s] != nullptr) *reinterpret_cast<Some*>(p.states[s] + i) = states[s];
  }
}

// The share of this block, with the first kUsed states and with `grad` for the gradient.
template <int kUsed, typename F, typename T, int kStates>
__device__ void change_piece(const F& f, const Placed<T, kStates>& p, const T* grad, int64_t block,
                             int64_t piece) {
  constexpr int kLanes = 16 / sizeof(T);
  const int64_t begin = (block - p.first) * piece;
  const int64_t end = begin + piece < p.size ? begin + piece : p.size;
  const int64_t packed = p.packs ? begin + (end - begin) / kLanes * kLanes : begin;
  for (int64_t i = begin + int64_t{threadIdx.x} * kLanes; i < packed;
       i += int64_t{kUpdateThreads} * kLanes) {
    change<kLanes, kUsed>(f, p, i, *reinterpret_cast<const cuda::Pack<T, kLanes>*>(grad + i));
  }
  for (int64_t i = packed + threadIdx.x; i < end; i += kUpdateThreads) {
    change<1, kUsed>(f, p, i, cuda::Pack<T, 1>{{grad[i]}});
  }
}

template <typename Table>
__global__ void advance_powers(const __grid_constant__ Table table) {
  constexpr int kPowers = update::kMaxPowers;
  const int i = static_cast<int>(threadIdx.x);
  if (i >= table.count * kPowers) return;
  const auto& p = table.placed[i / kPowers];
  auto* const out = p.powers_out[i % kPowers];
  if (out == nullptr) return;
  const auto n = table.numbers(p);
  const bool keep = table.keeps_powers || table.skips();
  *out = n.powers[i % kPowers] * (keep ? 1 : n.settings[table.bases[i % kPowers]]);
}

// What a plan knows of them, and what its Step does with all of them at the start and at the end.
template <typename T, int kStates, int kMost>
class CudaParameters {
 public:
  using Table = ParameterTable<T, kStates, kMost>;

  // Gradients are asked for by others where they are sparse.
  CudaParameters(PrepareContext& c, const update::Rule& rule, int64_t piece, bool dense_grads)
      : stream_(c.around().stream), piece_(piece) {
    const bool alone = !rule.lists && !c.op().type().starts_with(kFused);
    require(kMost > 1 || alone, "{} on a GPU takes one parameter", c.op().type());
    for (size_t s = 0; s < rule.settings.size(); ++s) {
      const auto& value = rule.settings[s].op;
      if (value && std::holds_alternative<std::vector<float>>(*value)) own_ = static_cast<int>(s);
    }
    if (rule.skips && takes(c, "SkipUpdate")) skip_ = c.in<bool>("SkipUpdate");
    for (size_t i = 0; i < c.count("Param"); ++i) {
      const Layout layout = dense_grads ? c.layout("Param", i) : Layout();
      NumbersOf<T> numbers(c, rule, i);
      Tensors<T> tensors(c, rule, layout, i);
      const In<T> grad = dense_grads ? c.in<T>("Grad", i, layout) : In<T>();
      const Out<T> work = rule.works ? c.workspace<T>(tensors.size()) : Out<T>();
      all_.push_back({std::move(numbers), std::move(tensors), grad, work});
      invariant(all_.back().numbers.tensors().size() <= kMostTensors,
                "{} takes more than {} numbers from tensors", c.op().type(), kMostTensors);
    }
  }

  Stream stream() const { return stream_; }
  int64_t count() const { return static_cast<int64_t>(all_.size()); }
  int64_t blocks_of(int64_t i) const {
    return (all_[static_cast<size_t>(i)].tensors.size() + piece_ - 1) / piece_;
  }
  int64_t blocks() const {
    int64_t sum = 0;
    for (int64_t i = 0; i < count(); ++i) sum += blocks_of(i);
    return sum;
  }

  // First in a run: what does not lie in place is copied.
  void start() const {
    for (const One& one : all_) {
      one.tensors.start([this](const T* from, int64_t n, T* to) {
        cuda::copy(to, from, n * static_cast<int64_t>(sizeof(T)), stream_);
      });
    }
  }

  // Calls use(table, number of its first parameter) for all of them.
  template <typename Use>
  void for_each_table(Use use) const {
    for (int64_t first = 0; first < count(); first += kMost) use(table(first), first);
  }

  // Last in a run, when nobody reads the powers of this step any more.
  void advance() const {
    bool any = false;
    for (const auto& power : all_.empty() ? NoPowers() : all_.front().numbers.powers()) {
      any = any || power.out;
    }
    if (!any) return;
    for_each_table([this](const Table& t, int64_t) {
      constexpr int kThreads = kMost * static_cast<int>(update::kMaxPowers);
      advance_powers<<<1, kThreads, 0, queue()>>>(t);
      cuda::check(cudaGetLastError(), "advance the powers of {} parameters", t.count);
    });
  }

  cudaStream_t queue() const { return static_cast<cudaStream_t>(stream_.handle); }

 private:
  using NoPowers = std::vector<typename NumbersOf<T>::PowerOf>;

  struct One {
    NumbersOf<T> numbers;
    Tensors<T> tensors;
    In<T> grad;
    Out<T> work;
  };

  Table table(int64_t first) const {
    const NumbersOf<T>& numbers = all_[static_cast<size_t>(first)].numbers;
    Table t = {.piece = piece_,
               .known = numbers.known(),
               .own = own_,
               .skip = skip_ ? skip_.data() : nullptr,
               .keeps_powers = numbers.keeps_powers()};
    for (size_t k = 0; k < numbers.tensors().size(); ++k) {
      t.from_tensor[k] = static_cast<int>(numbers.tensors()[k].first);
      t.tensors[k] = numbers.tensors()[k].second.at();
    }
    for (size_t k = 0; k < numbers.powers().size(); ++k) {
      t.bases[k] = static_cast<int>(numbers.powers()[k].base);
    }
    for (int64_t i = first; i < std::min(first + kMost, count()); ++i) {
      t.placed[t.count] = place(all_[static_cast<size_t>(i)]);
      t.placed[t.count++].first = t.blocks;
      t.blocks += blocks_of(i);
    }
    return t;
  }

  Placed<T, kStates> place(const One& one) const {
    Placed<T, kStates> p = {.param = one.tensors.param(),
                            .grad = one.grad ? one.grad.data() : nullptr,
                            .work = one.work ? one.work.data() : nullptr,
                            .size = one.tensors.size(),
                            .l2 = one.numbers.known().l2};
    for (int s = 0; s < kStates; ++s) p.states[s] = one.tensors.state(static_cast<size_t>(s));
    p.packs = aligned(p.param) && aligned(p.grad) && aligned(p.work);
    for (const T* state : p.states) p.packs = p.packs && aligned(state);
    if (one.numbers.lr()) p.lr = one.numbers.lr().at();
    for (size_t k = 0; k < one.numbers.powers().size(); ++k) {
      const auto& power = one.numbers.powers()[k];
      p.powers[k] = power.at();
      if (power.out) p.powers_out[k] = power.out.data();
    }
    if (own_ >= 0) p.own = one.numbers.known()[static_cast<size_t>(own_)];
    return p;
  }

  static bool aligned(const void* place) { return reinterpret_cast<uintptr_t>(place) % 16 == 0; }

  Stream stream_;
  int64_t piece_;
  int own_ = -1;
  In<bool> skip_;
  std::vector<One> all_;
};

}  // namespace flotilla::ops
