// flotilla/ops/loss/chosen_rows.h
//
// Losses that look at a few rows of a large weight for each sample: classes that are drawn, or
// nodes on a path. Each row gives a score
//
//   z[i, k] = X[i] . Weight[row(i, k)] + Bias[row(i, k)]
//
// and the gradients of X, Weight and Bias follow from those of the scores. Which rows these are
// says a type with
//
//   int64_t samples, most;                    // z is [samples, most]
//   int64_t count(int64_t i) const;           // how many scores sample i has
//   int64_t row(int64_t i, int64_t k) const;  // refuses one that Weight has not

#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/in_order.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {

// What an operator calls X and Weight; Bias, which may be missing, has one name.
struct ScoreSlots {
  std::string x = {};
  std::string weight = {};
};

template <typename T>
struct Scores {
  int64_t width;
  In<T> x, weight, bias;

  Scores(PrepareContext& c, const ScoreSlots& slots)
      : width(c.shape(slots.x)[1]),
        x(c.in<T>(slots.x)),
        weight(c.in<T>(slots.weight)),
        bias(given<T>(c, "Bias")) {}

  T operator()(int64_t i, int64_t row) const {
    const T *a = x.data() + i * width, *b = weight.data() + row * width;
    T sum = bias ? bias.data()[row] : T{0};
    for (int64_t j = 0; j < width; ++j) sum += a[j] * b[j];
    return sum;
  }
};

// With `is_sparse` the gradients of Weight and Bias are one row for each score.
inline void infer_score_grads(InferContext& c, const ScoreSlots& slots, int64_t scores) {
  c.out(grad_name(slots.x)) = VarMeta::tensor(c.dtype(slots.x), c.in(slots.x).shape);
  for (const std::string& slot : {slots.weight, std::string("Bias")}) {
    if (!c.has_in(slot)) continue;
    VarMeta grad = VarMeta::tensor(c.dtype(slot), c.in(slot).shape);
    if (c.attr<bool>("is_sparse")) {
      grad.kind = VarKind::kSelectedRows;
      grad.rows = scores;
    }
    c.out(grad_name(slot)) = std::move(grad);
  }
}

// The gradient of Weight, or with `x` null of Bias, whose factors are ones.
template <typename T, typename Rows>
Step spread_scores(PrepareContext& c, const std::string& slot, const Rows& rows, Out<T> slope,
                   In<T> x) {
  const std::string grad = grad_name(slot);
  const int64_t numbers = c.shape(slot).numel(), width = x ? c.shape(slot)[1] : 1;
  const bool sparse = c.is_sparse(grad);
  const SparseOut<T> listed = sparse ? c.sparse_out<T>(grad) : SparseOut<T>();
  return [=, dense = sparse ? Out<T>() : c.out<T>(grad)] {
    T* to = sparse ? listed.value.data() : dense.data();
    std::fill_n(to, sparse ? rows.samples * rows.most * width : numbers, T{0});
    for (int64_t i = 0; i < rows.samples; ++i) {
      const int64_t count = rows.count(i);
      if (sparse) {  // what no score stands for stays with a row that is updated anyway
        std::fill_n(listed.rows.data() + i * rows.most, rows.most, count > 0 ? rows.row(i, 0) : 0);
      }
      for (int64_t k = 0; k < count; ++k) {
        const int64_t at = i * rows.most + k, row = rows.row(i, k);
        if (sparse) listed.rows.data()[at] = row;
        T* line = to + (sparse ? at : row) * width;
        for (int64_t j = 0; j < width; ++j) {
          line[j] += slope.data()[at] * (x ? x.data()[i * width + j] : T{1});
        }
      }
    }
  };
}

// What is wanted of the gradients of X, Weight and Bias. slope_of(i, k) is the gradient of a score.
template <typename T, typename Rows, typename F>
Step score_grads(PrepareContext& c, const ScoreSlots& slots, const Rows& rows, F slope_of) {
  const Out<T> slope = c.workspace<T>(std::max<int64_t>(rows.samples * rows.most, 1));
  const int64_t width = c.shape(slots.x)[1];
  std::vector<Step> steps = {[=] {
    parallel_for(rows.samples, rows.most * 40, [&](int64_t i) {
      for (int64_t k = 0; k < rows.count(i); ++k) slope.data()[i * rows.most + k] = slope_of(i, k);
    });
  }};
  if (c.has(grad_name(slots.x))) {
    steps.push_back([=, w = c.in<T>(slots.weight), dx = c.out<T>(grad_name(slots.x))] {
      parallel_for(rows.samples, rows.most * width, [&](int64_t i) {
        T* to = dx.data() + i * width;
        std::fill_n(to, width, T{0});
        for (int64_t k = 0; k < rows.count(i); ++k) {
          const T* line = w.data() + rows.row(i, k) * width;
          for (int64_t j = 0; j < width; ++j) to[j] += slope.data()[i * rows.most + k] * line[j];
        }
      });
    });
  }
  if (c.has(grad_name(slots.weight))) {
    steps.push_back(spread_scores(c, slots.weight, rows, slope, c.in<T>(slots.x)));
  }
  if (c.has("Bias@GRAD")) steps.push_back(spread_scores(c, "Bias", rows, slope, In<T>()));
  return in_order(std::move(steps));
}

// Attributes of these operators that follow those of their own.
inline std::vector<AttrSpec> with_score_attrs(std::vector<AttrSpec> attrs) {
  return joined(
      std::move(attrs),
      {{"is_sparse", false, "whether gradients of the weights hold only rows that were used"},
       {"remote_prefetch", false, "of no effect"},
       {"trainer_id", 0, "of no effect"},
       {"height_sections", std::vector<int64_t>{}, "of no effect"},
       {"epmap", std::vector<std::string>{}, "of no effect"},
       {"table_names", std::vector<std::string>{}, "of no effect"}});
}

}  // namespace flotilla::ops
