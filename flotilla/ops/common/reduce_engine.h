// flotilla/ops/common/reduce_engine.h
//
// Folds a dense tensor over some of its axes with an associative operation. The order in which
// elements are combined depends on the shape alone, so any number of threads gives the same bits.
//
// 16-bit floats are folded as floats, and rounded once, at the end.
//
// Two shapes of loop: where the innermost axis is folded, each result is folded from runs of
// adjacent elements; where it is kept, rows are added to a row of results.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "flotilla/base/half.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/device/cpu/simd.h"
#include "flotilla/ops/common/fold_formulas.h"
#include "flotilla/ops/common/walk.h"

namespace flotilla::ops {

// Elements that one call of fold_run takes: few enough for a float sum to stay exact to its digits.
inline constexpr int64_t kRun = 8192;
// Columns that are folded together, and rows after which their sums are put away.
inline constexpr int64_t kFoldColumns = 128;
inline constexpr int64_t kFoldRows = 64;

// Items of a loop that make it worth a thread, where one costs `operations`.
inline int64_t grain_for(int64_t operations) {
  return std::max<int64_t>(1, kGrainOperations / std::max<int64_t>(operations, 1));
}

// Folds n adjacent elements, in as many lanes as fit into four vector registers.
template <typename Fold, typename T>
Compute<T> fold_run(const T* x, int64_t n) {
  using C = Compute<T>;
  constexpr int64_t kLanes = 256 / static_cast<int64_t>(sizeof(C));
  C lanes[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) lanes[l] = Fold::template start<C>();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] = Fold::fold(lanes[l], widen(x[i + l]));
  }
  for (int64_t l = 0; i < n; ++i, ++l) lanes[l] = Fold::fold(lanes[l], widen(x[i]));
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l < half; ++l) lanes[l] = Fold::fold(lanes[l], lanes[l + half]);
  }
  return lanes[0];
}

// to[j] = fold(to[j], rows of n columns that lie `stride` apart)
template <typename Fold, typename T>
void fold_rows(const T* x, int64_t rows, int64_t stride, Compute<T>* to, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, x += stride) {
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) to[j] = Fold::fold(to[j], widen(x[j]));
  }
}

// Which elements are folded into which result.
class FoldPlan {
 public:
  // Of a dense tensor of shape `from` in `layout`; `to` has the same rank, with extent 1 where an
  // axis is folded. Results lie row by row.
  FoldPlan(const Shape& from, const Layout& layout, const Shape& to);

  // Elements of workspace that run needs.
  int64_t workspace() const {
    return outer_keep_ == 1 && inner_folded_ ? (run_ + kRun - 1) / kRun : 0;
  }

  // y = fold(x), then finish(y).
  template <typename Fold, typename T, typename R, typename Finish>
  void run(const T* x, R* y, Compute<T>* workspace, Finish finish) const;

 private:
  struct Axis {
    int64_t extent = 1;
    int64_t from = 0;
    int64_t to = 0;
  };
  struct Place {
    int64_t from = 0;
    int64_t to = 0;
  };

  static Place place(const std::vector<Axis>& axes, int64_t index);
  template <typename Fold, typename T>
  Compute<T> fold_one(const T* x) const;
  template <typename Fold, typename T>
  void fold_columns(const T* x, Compute<T>* totals, int64_t n) const;

  std::vector<Axis> keep_, fold_;  // all but the innermost axis
  int64_t outer_keep_ = 1, outer_fold_ = 1;
  int64_t run_ = 1;     // the innermost axis
  int64_t run_to_ = 0;  // how far its results lie apart
  bool inner_folded_ = true;
};

inline FoldPlan::Place FoldPlan::place(const std::vector<Axis>& axes, int64_t index) {
  Place found;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    found.from += index % axis->extent * axis->from;
    found.to += index % axis->extent * axis->to;
    index /= axis->extent;
  }
  return found;
}

// One result: the runs of all folded indices.
template <typename Fold, typename T>
Compute<T> FoldPlan::fold_one(const T* x) const {
  Compute<T> total = Fold::template start<Compute<T>>();
  for (int64_t f = 0; f < outer_fold_; ++f) {
    const T* from = x + place(fold_, f).from;
    for (int64_t i = 0; i < run_; i += kRun) {
      total = Fold::fold(total, fold_run<Fold>(from + i, std::min(kRun, run_ - i)));
    }
  }
  return total;
}

// n adjacent results, at most kFoldColumns.
template <typename Fold, typename T>
void FoldPlan::fold_columns(const T* x, Compute<T>* totals, int64_t n) const {
  using C = Compute<T>;
  C part[kFoldColumns];
  std::fill_n(totals, n, Fold::template start<C>());
  // The last folded axis is walked in one call, the others index by index.
  const Axis last = fold_.empty() ? Axis{} : fold_.back();
  for (int64_t f = 0; f < outer_fold_; f += last.extent) {
    const T* from = x + place(fold_, f).from;
    for (int64_t r = 0; r < last.extent; r += kFoldRows) {
      const int64_t rows = std::min(kFoldRows, last.extent - r);
      std::fill_n(part, n, Fold::template start<C>());
      fold_rows<Fold>(from + r * last.from, rows, last.from, part, n);
      for (int64_t j = 0; j < n; ++j) totals[j] = Fold::fold(totals[j], part[j]);
    }
  }
}

template <typename Fold, typename T, typename R, typename Finish>
void FoldPlan::run(const T* x, R* y, Compute<T>* workspace, Finish finish) const {
  using C = Compute<T>;
  if (inner_folded_ && outer_keep_ == 1) {
    const int64_t runs = this->workspace();
    parallel_ranges(runs, 2, [&](int64_t begin, int64_t end) {
      simd([&] {
        for (int64_t i = begin; i < end; ++i) {
          workspace[i] = fold_run<Fold>(x + i * kRun, std::min(kRun, run_ - i * kRun));
        }
      });
    });
    const C total = runs == 0 ? Fold::template start<C>() : fold_run<Fold>(workspace, runs);
    y[0] = narrow<R>(finish(total));
    return;
  }
  if (inner_folded_) {
    parallel_ranges(outer_keep_, grain_for(outer_fold_ * run_), [&](int64_t begin, int64_t end) {
      simd([&] {
        for (int64_t k = begin; k < end; ++k) {
          const Place at = place(keep_, k);
          y[at.to] = narrow<R>(finish(fold_one<Fold>(x + at.from)));
        }
      });
    });
    return;
  }
  const int64_t chunks = (run_ + kFoldColumns - 1) / kFoldColumns;
  const int64_t grain = grain_for(outer_fold_ * std::min(kFoldColumns, run_));
  parallel_ranges(outer_keep_ * chunks, grain, [&](int64_t begin, int64_t end) {
    simd([&] {
      C totals[kFoldColumns];
      for (int64_t i = begin; i < end; ++i) {
        const Place at = place(keep_, i / chunks);
        const int64_t first = i % chunks * kFoldColumns, n = std::min(kFoldColumns, run_ - first);
        fold_columns<Fold>(x + at.from + first, totals, n);
        for (int64_t j = 0; j < n; ++j) {
          y[at.to + (first + j) * run_to_] = narrow<R>(finish(totals[j]));
        }
      }
    });
  });
}

}  // namespace flotilla::ops
