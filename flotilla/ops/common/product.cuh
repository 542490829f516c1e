// flotilla/ops/common/product.cuh
//
// A matrix product on a GPU over any number of batch axes, prepared once and run often. cuBLASLt
// walks one batch axis by itself; the others are walked here, one launch for each index.

#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "flotilla/device/cuda/blas.h"
#include "flotilla/device/cuda/libraries.h"
#include "flotilla/device/cuda/memory.h"
#include "flotilla/device/gpu.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {

// Out = alpha A B for each index of the batch axes. Along an axis with stride 0 an operand is
// repeated, and Out is summed up, in the order of the indices.
struct BatchedProduct {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  double alpha = 1;
  Ints batch = {};
  Ints strides_a = {}, strides_b = {}, strides_out = {};  // in elements
  int64_t count = 0;                                      // elements of Out
};

template <typename T>
class CudaProduct {
 public:
  CudaProduct(PrepareContext& c, const BatchedProduct& p)
      : stream_(c.around().stream), bytes_(p.count * static_cast<int64_t>(sizeof(T))) {
    empty_ = p.m * p.n * p.k * Shape(p.batch).numel() == 0;
    if (empty_) return;
    std::vector<Axis> axes = axes_of(p);
    const Axis batch = take_longest(axes);
    list_places(axes);
    const cuda::MatmulProblem problem = {.dtype = dtype_of<T>,
                                         .m = p.m,
                                         .n = p.n,
                                         .k = p.k,
                                         .transpose_a = p.transpose_a,
                                         .transpose_b = p.transpose_b,
                                         .batch = batch.extent,
                                         .stride_a = batch.a,
                                         .stride_b = batch.b,
                                         .stride_c = batch.out,
                                         .alpha = p.alpha,
                                         .alignment = alignment(batch)};
    cuda::Blas& blas = c.around().gpu->libraries()->blas();
    first_ = blas.matmul(problem);
    int64_t scratch = first_->scratch_bytes();
    if (std::any_of(places_.begin(), places_.end(), [](const Place& p) { return !p.first; })) {
      cuda::MatmulProblem adding = problem;
      adding.accumulate = true;
      more_ = blas.matmul(adding);
      scratch = std::max(scratch, more_->scratch_bytes());
    }
    if (scratch > 0) scratch_ = c.workspace(scratch);
  }

  void run(const T* a, const T* b, T* out) const {
    if (empty_) {
      if (bytes_ > 0) cuda::fill(out, 0, bytes_, stream_);
      return;
    }
    void* scratch = scratch_ ? scratch_.data() : nullptr;
    for (const Place& p : places_) {
      (p.first ? first_ : more_)->run(a + p.a, b + p.b, nullptr, out + p.out, scratch);
    }
  }

 private:
  struct Axis {
    int64_t extent = 1;
    int64_t a = 0, b = 0, out = 0;  // strides
  };
  // Where one launch begins, in elements; the first one that reaches a part of Out writes it.
  struct Place {
    int64_t a = 0, b = 0, out = 0;
    bool first = true;
  };

  // Outermost first; neighbours that are walked like one axis are one.
  static std::vector<Axis> axes_of(const BatchedProduct& p) {
    std::vector<Axis> axes;
    for (size_t i = 0; i < p.batch.size(); ++i) {
      const Axis axis = {p.batch[i], p.strides_a[i], p.strides_b[i], p.strides_out[i]};
      if (axis.extent == 1) continue;
      Axis* outer = axes.empty() ? nullptr : &axes.back();
      if (outer != nullptr && outer->a == axis.a * axis.extent &&
          outer->b == axis.b * axis.extent && outer->out == axis.out * axis.extent) {
        *outer = {outer->extent * axis.extent, axis.a, axis.b, axis.out};
      } else {
        axes.push_back(axis);
      }
    }
    return axes;
  }

  // What cuBLASLt walks: no axis along which Out is summed up.
  static Axis take_longest(std::vector<Axis>& axes) {
    auto longest = axes.end();
    for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
      if (axis->out != 0 && (longest == axes.end() || axis->extent > longest->extent)) {
        longest = axis;
      }
    }
    if (longest == axes.end()) return {};
    const Axis taken = *longest;
    axes.erase(longest);
    return taken;
  }

  void list_places(const std::vector<Axis>& axes) {
    places_ = {Place()};
    for (const Axis& axis : axes) {
      std::vector<Place> finer;
      for (const Place& p : places_) {
        for (int64_t i = 0; i < axis.extent; ++i) {
          finer.push_back({p.a + i * axis.a, p.b + i * axis.b, p.out + i * axis.out,
                           p.first && (axis.out != 0 || i == 0)});
        }
      }
      places_ = std::move(finer);
    }
  }

  // Of the addresses of all matrices, in bytes.
  int64_t alignment(const Axis& batch) const {
    constexpr int64_t kMost = 16, kSize = sizeof(T);
    int64_t common = kMost;
    const auto reaches = [&](int64_t a, int64_t b, int64_t out) {
      for (const int64_t elements : {a, b, out}) common = std::gcd(common, elements * kSize);
    };
    reaches(batch.a, batch.b, batch.out);
    for (const Place& p : places_) reaches(p.a, p.b, p.out);
    return common;
  }

  Stream stream_;
  int64_t bytes_ = 0;
  bool empty_ = false;
  std::vector<Place> places_;
  std::shared_ptr<const cuda::MatmulPlan> first_, more_;  // writes, adds
  Out<char> scratch_;
};

}  // namespace flotilla::ops
