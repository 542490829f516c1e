// flotilla/ops/sequence/recurrent.h
//
// What recurrent operators over sequences share: their activations, the walk along a sequence, and
// products of one row with a matrix. Rows of different sequences never meet, so threads share out
// sequences; gradients of weights are summed up afterwards, row by row in their order.

#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/activation_formulas.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/scalar.h"
#include "flotilla/ops/common/sequences.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {

enum class Activation { kIdentity, kSigmoid, kTanh, kRelu };

inline Activation activation_of(const std::string& name) {
  if (name == "identity") return Activation::kIdentity;
  if (name == "sigmoid") return Activation::kSigmoid;
  if (name == "tanh") return Activation::kTanh;
  if (name == "relu") return Activation::kRelu;
  refuse("an activation must be one of identity, sigmoid, tanh, relu, but is \"{}\"", name);
}

template <typename T>
T activate(Activation kind, T x) {
  if (kind == Activation::kSigmoid) return exact::sigmoid(x);
  if (kind == Activation::kTanh) return std::tanh(x);
  return kind == Activation::kRelu ? unary::Relu::f(x, Params<T>{}) : x;
}

// The derivative where the activation gave `y`.
template <typename T>
T slope(Activation kind, T y) {
  if (kind == Activation::kSigmoid) return unary::Sigmoid::df(y, y, T{1}, Params<T>{});
  if (kind == Activation::kTanh) return unary::Tanh::df(y, y, T{1}, Params<T>{});
  return kind == Activation::kRelu ? unary::Relu::df(y, y, T{1}, Params<T>{}) : T{1};
}

// The width of a recurrent operator with `gates` gates. Refuses Input and Weight of other shapes.
inline int64_t check_recurrence(const InferContext& c, int64_t gates) {
  check_sequences(c, "Input");
  const Shape &x = c.in("Input").shape, &weight = c.in("Weight").shape;
  require(
      x.rank() == 2 && weight.rank() == 2 && weight[1] == gates * weight[0] &&
          fits(x[1], weight[1]),
      "Input and Weight must have shapes [rows, {0} * width] and [width, {0} * width], but have "
      "{1} and {2}",
      gates, x, weight);
  return weight[0];
}

// Refuses a state before the first step, where it is given, that is not a row for each sequence.
inline void check_first_state(InferContext& c, const char* slot, int64_t width) {
  if (!c.has_in(slot)) return;
  const Shape& first = c.in(slot).shape;
  const int64_t sequences = c.in("Input").sequences;
  require(first.rank() == 2 && first[1] == width && fits(first[0], sequences),
          "{} must have shape [{}, {}], a row for each sequence, but has {}", slot, sequences,
          width, first);
}

// to += row M, M of [rows, columns]
template <typename T>
void add_product(const T* row, const T* m, int64_t rows, int64_t columns, T* to) {
  for (int64_t i = 0; i < rows; ++i) {
    const T factor = row[i];
    const T* line = m + i * columns;
    for (int64_t j = 0; j < columns; ++j) to[j] += factor * line[j];
  }
}

// to += row M^T, M of [rows, columns]
template <typename T>
void add_product_back(const T* row, const T* m, int64_t rows, int64_t columns, T* to) {
  for (int64_t i = 0; i < rows; ++i) {
    const T* line = m + i * columns;
    T sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += row[j] * line[j];
    to[i] += sum;
  }
}

// One sequence in the order in which it is read.
struct SequenceWalk {
  int64_t begin = 0;
  int64_t end = 0;
  bool reverse = false;

  int64_t length() const { return end - begin; }
  int64_t row(int64_t step) const { return reverse ? end - 1 - step : begin + step; }
};

// What the network of a recurrent operator is made of, `gates` gates for each unit.
template <typename T>
struct Recurrence {
  int64_t rows = 0;
  int64_t width = 0;
  int64_t gates = 0;
  bool reverse = false;
  Sequences sequences;
  In<T> weight;
  In<T> bias;
  In<T> h0;

  Recurrence(PrepareContext& c, int64_t gates)
      : rows(c.shape("Input")[0]),
        width(c.shape("Weight")[0]),
        gates(gates),
        reverse(c.attr<bool>("is_reverse")),
        sequences(c, "Input"),
        weight(c.in<T>("Weight")),
        bias(given<T>(c, "Bias")),
        h0(given<T>(c, "H0")) {}

  int64_t count() const { return sequences.count(); }
  SequenceWalk walk(int64_t s) const {
    const std::span<const int64_t> offsets = sequences.offsets();
    return {offsets[s], offsets[s + 1], reverse};
  }
  // What stood before a row: the row of `all` read before it, as find_previous() says, the
  // sequence's row of `first`, or null.
  const T* before(int64_t previous, const T* all, In<T> first) const {
    if (previous >= 0) return all + previous * width;
    return first ? first.data() + (-1 - previous) * width : nullptr;
  }
  // Calls f(row, the row read before it as find_previous() says) along all sequences.
  template <typename F>
  void walk_forward(F f) const {
    parallel_for(count(), work(), [&](int64_t s) {
      const SequenceWalk walk = this->walk(s);
      for (int64_t step = 0; step < walk.length(); ++step) {
        f(walk.row(step), step > 0 ? walk.row(step - 1) : -1 - s);
      }
    });
  }
  // Back again: f(row, row before, carried), where `carried` is two rows of states that begin as
  // zeros. What they are in the end are the gradients of the states before the first step.
  template <typename F>
  void walk_back(Out<T> scratch, Out<T> dfirst, Out<T> dsecond, F f) const {
    parallel_for(count(), 2 * work(), [&](int64_t s) {
      const SequenceWalk walk = this->walk(s);
      T* const carried = scratch.data() + walk.begin * 2 * width;
      if (walk.length() > 0) std::fill_n(carried, 2 * width, T{0});
      for (int64_t step = walk.length(); step-- > 0;) {
        f(walk.row(step), step > 0 ? walk.row(step - 1) : -1 - s, carried);
      }
      const auto leave = [&](Out<T> to, const T* from) {
        if (to && walk.length() > 0) std::copy_n(from, width, to.data() + s * width);
        if (to && walk.length() == 0) std::fill_n(to.data() + s * width, width, T{0});
      };
      leave(dfirst, carried);
      leave(dsecond, carried + width);
    });
  }
  Out<T> back_scratch(PrepareContext& c) const {
    return c.workspace<T>(std::max<int64_t>(2 * width * rows, 1));
  }
  // Operations for a sequence, to share them out.
  int64_t work() const {
    return 2 * gates * width * width * (rows / std::max<int64_t>(count(), 1) + 1);
  }
  // Where the gradients of the gates go: they are those of Input.
  Out<T> gate_gradients(PrepareContext& c) const {
    if (c.has("Input@GRAD")) return c.out<T>("Input@GRAD");
    return c.workspace<T>(std::max<int64_t>(gates * width * rows, 1));
  }
};

// For each row of a batch, the row that was read before it; -1 - s for the first of sequence s.
inline void find_previous(std::span<const int64_t> offsets, bool reverse, int64_t* previous) {
  for (int64_t s = 0; s + 1 < std::ssize(offsets); ++s) {
    const SequenceWalk walk = {offsets[s], offsets[s + 1], reverse};
    for (int64_t step = 0; step < walk.length(); ++step) {
      previous[walk.row(step)] = step == 0 ? -1 - s : walk.row(step - 1);
    }
  }
}

// out = sum over rows r of left(r)^T right(r), [lines, columns]; left(r) may be null.
template <typename T, typename L, typename R>
void sum_products(int64_t rows, int64_t lines, int64_t columns, L left, R right, T* out) {
  parallel_for(lines, rows * columns, [&](int64_t i) {
    T* to = out + i * columns;
    std::fill_n(to, columns, T{0});
    for (int64_t r = 0; r < rows; ++r) {
      const T* l = left(r);
      if (l == nullptr) continue;
      const T factor = l[i];
      const T* line = right(r);
      for (int64_t j = 0; j < columns; ++j) to[j] += factor * line[j];
    }
  });
}

// out = sum over rows of values, [columns]
template <typename T>
void sum_rows(int64_t rows, int64_t columns, const T* values, T* out) {
  std::fill_n(out, columns, T{0});
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < columns; ++j) out[j] += values[r * columns + j];
  }
}

}  // namespace flotilla::ops
