// flotilla/ops/math/elementwise.h
//
// Loops of binary operators over broadcast operands, shared by arithmetic and comparisons. An
// operator is a type with a static function f(x, y).

#pragma once

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "flotilla/device/cpu/simd.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/map.h"
#include "flotilla/ops/common/walk.h"
#include "flotilla/ops/math/binary_plan.h"

namespace flotilla::ops {

// How the operands of a block move from row to row and from column to column.
struct BlockStrides {
  int64_t x_row = 0, x_column = 0;
  int64_t y_row = 0, y_column = 0;
};

inline BlockStrides strides_of(const Walk& walk) {
  return {walk.row().x, walk.column().x, walk.row().y, walk.column().y};
}

// out[r][c] = F::f(x[r][c], y[r][c]). `out` may be x or y where that one is not repeated.
template <typename F, typename X, typename Y, typename R>
FLT_INLINE void apply_rows(const X* x, const Y* y, R* out, int64_t rows, int64_t columns,
                           BlockStrides s) {
  for (int64_t r = 0; r < rows; ++r, x += s.x_row, y += s.y_row, out += columns) {
    if (s.x_column == 1 && s.y_column == 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < columns; ++i) out[i] = static_cast<R>(F::f(x[i], y[i]));
    } else if (s.x_column == 1 && s.y_column == 0) {
      const Y same = *y;
#pragma GCC ivdep
      for (int64_t i = 0; i < columns; ++i) out[i] = static_cast<R>(F::f(x[i], same));
    } else if (s.x_column == 0 && s.y_column == 1) {
      const X same = *x;
#pragma GCC ivdep
      for (int64_t i = 0; i < columns; ++i) out[i] = static_cast<R>(F::f(same, y[i]));
    } else if (s.x_column == 0 && s.y_column == 0) {
      const R same = static_cast<R>(F::f(*x, *y));
      for (int64_t i = 0; i < columns; ++i) out[i] = same;
    } else {
      for (int64_t i = 0; i < columns; ++i) {
        out[i] = static_cast<R>(F::f(x[i * s.x_column], y[i * s.y_column]));
      }
    }
  }
}

// The same in the calling thread, with the vector instructions there are; 16-bit floats are loaded
// and stored.
template <typename F, typename X, typename Y, typename R>
void apply_block(const X* x, const Y* y, R* out, int64_t rows, int64_t columns, BlockStrides s) {
  if constexpr (computed_as_stored<X, Y, R>) {
    simd([=] { apply_rows<F>(x, y, out, rows, columns, s); });
  } else {
    for (int64_t r = 0; r < rows; ++r, x += s.x_row, y += s.y_row, out += columns) {
      store_pieces(columns, out, [=](int64_t begin, int64_t n, Compute<R>* results) {
        const Loaded<X> from_x(x + begin * s.x_column, n, s.x_column);
        const Loaded<Y> from_y(y + begin * s.y_column, n, s.y_column);
        apply_block<F>(from_x.data(), from_y.data(), results, 1, n,
                       {0, from_x.stride(), 0, from_y.stride()});
      });
    }
  }
}

template <typename F, typename X, typename Y, typename R>
void apply(const Walk& walk, const X* x, const Y* y, R* out) {
  const BlockStrides strides = strides_of(walk);
  walk.run([=](const WalkBlock& b) {
    apply_block<F>(x + b.x, y + b.y, out + b.out, b.rows, b.columns, strides);
  });
}

// to[r][c] = F::f(x, y, out, dout) there; out and dout are dense.
template <typename F, typename X, typename Y, typename O, typename R>
FLT_INLINE void apply_grad_rows(const X* x, const Y* y, const O* out, const O* dout, R* to,
                                int64_t rows, int64_t columns, BlockStrides s) {
  for (int64_t r = 0; r < rows; ++r) {
    if (s.x_column == 1 && s.y_column == 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < columns; ++i) to[i] = F::f(x[i], y[i], out[i], dout[i]);
    } else if (s.x_column == 1 && s.y_column == 0) {
      const Y same = *y;
#pragma GCC ivdep
      for (int64_t i = 0; i < columns; ++i) to[i] = F::f(x[i], same, out[i], dout[i]);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < columns; ++i) {
        to[i] = F::f(x[i * s.x_column], y[i * s.y_column], out[i], dout[i]);
      }
    }
    x += s.x_row, y += s.y_row, out += columns, dout += columns, to += columns;
  }
}

// The same as apply_block() is to apply_rows().
template <typename F, typename X, typename Y, typename O, typename R>
void apply_grad_block(const X* x, const Y* y, const O* out, const O* dout, R* to, int64_t rows,
                      int64_t columns, BlockStrides s) {
  if constexpr (computed_as_stored<X, Y, O, R>) {
    simd([=] { apply_grad_rows<F>(x, y, out, dout, to, rows, columns, s); });
  } else {
    for (int64_t r = 0; r < rows; ++r) {
      store_pieces(columns, to, [=](int64_t begin, int64_t n, Compute<R>* results) {
        const Loaded<X> from_x(x + begin * s.x_column, n, s.x_column);
        const Loaded<Y> from_y(y + begin * s.y_column, n, s.y_column);
        apply_grad_block<F>(from_x.data(), from_y.data(), Loaded<O>(out + begin, n).data(),
                            Loaded<O>(dout + begin, n).data(), results, 1, n,
                            {0, from_x.stride(), 0, from_y.stride()});
      });
      x += s.x_row, y += s.y_row, out += columns, dout += columns, to += columns;
    }
  }
}

// The elements that an operand holds where the result has padding: those along its only moving
// axis, rounded up.
int64_t padded_numel(const BinaryPlan& plan, const Shape& operand);

// An operand to read in a walk. One that is repeated lies row by row, and where the result has
// padding, so must it: it is copied then, a few elements.
template <typename T>
class WalkOperand {
 public:
  WalkOperand() = default;
  WalkOperand(PrepareContext& c, std::string_view slot, const BinaryPlan& plan,
              const Shape& extents) {
    const bool repeated = !(extents == plan.out);
    in_ = c.in<T>(slot, 0, repeated ? Layout() : plan.layout);
    if (!repeated || !plan.padded()) return;
    numel_ = extents.numel();
    padded_ = padded_numel(plan, extents);
    copy_ = c.workspace<T>(padded_);
  }

  // Called once in each run.
  const T* data() const {
    if (!in_) return nullptr;
    if (!copy_) return in_.data();
    std::copy_n(in_.data(), numel_, copy_.data());
    std::fill(copy_.data() + numel_, copy_.data() + padded_, T{});
    return copy_.data();
  }

 private:
  In<T> in_;
  Out<T> copy_;
  int64_t numel_ = 0, padded_ = 0;
};

// The forward kernel of a binary operator.
template <typename F, typename T, typename R>
Step binary_step(PrepareContext& c) {
  const BinaryPlan plan = plan_binary(c, c.shape("Out"), {"X", "Y"}, F::kInfo.keeps_zero);
  if constexpr (std::is_same_v<T, R>) {
    if (!plan.x_repeated()) c.in_place("X", "Out");
    if (!plan.y_repeated()) c.in_place("Y", "Out");
  }
  return [walk = plan.walk(), x = WalkOperand<T>(c, "X", plan, plan.x),
          y = WalkOperand<T>(c, "Y", plan, plan.y), out = c.out<R>("Out", 0, plan.layout)] {
    apply<F>(walk, x.data(), y.data(), out.data());
  };
}

}  // namespace flotilla::ops
