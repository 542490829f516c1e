// flotilla/ops/math/matmul_problem.h
//
// What a product of matrices is, for the kernels of every device: mul flattens both operands to
// matrices; the others multiply the last two axes and broadcast the ones before. A vector on the
// left is a row, on the right a column.

#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/device/cpu/onednn.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {

template <typename Context>
std::pair<int64_t, int64_t> column_dims(const Context& c) {
  return {c.template attr<int64_t>("x_num_col_dims"), c.template attr<int64_t>("y_num_col_dims")};
}

// One operand: the axes before the last two, and the matrix as it lies in memory.
struct Operand {
  Ints batch = {};
  int64_t rows = 1, columns = 1;
  bool vector = false;
};

inline Operand operand(const Shape& shape, bool left) {
  Operand o;
  if (shape.rank() == 1) {
    o.vector = true;
    (left ? o.columns : o.rows) = shape[0];
    return o;
  }
  o.batch.assign(shape.begin(), shape.end() - 2);
  o.rows = shape[shape.rank() - 2];
  o.columns = shape[shape.rank() - 1];
  return o;
}

struct Transposes {
  bool x = false, y = false;
};

// matmul_v2 and the older matmul differ in the names of their attributes.
template <typename Context>
Transposes transposes(const Context& c) {
  if (c.op().type().starts_with("matmul_v2")) {
    return {c.template attr<bool>("trans_x"), c.template attr<bool>("trans_y")};
  }
  if (c.op().type().starts_with("bmm")) return {};
  return {c.template attr<bool>("transpose_X"), c.template attr<bool>("transpose_Y")};
}

// The extents that both batches repeat to. REQUIRES: nothing; refuses what does not broadcast.
inline Ints broadcast_batch(const Shape& x, const Shape& y, const Operand& a, const Operand& b) {
  Ints batch(std::max(a.batch.size(), b.batch.size()), 1);
  for (size_t i = 0; i < batch.size(); ++i) {
    const auto extent = [&](const Operand& o) {
      const size_t missing = batch.size() - o.batch.size();
      return i < missing ? int64_t{1} : o.batch[i - missing];
    };
    const int64_t left = extent(a), right = extent(b);
    require(left == right || left == 1 || right == 1 || left == -1 || right == -1,
            "the batch axes of X {} and Y {} do not broadcast: {} meets {}", x, y, left, right);
    batch[i] = left == 1 ? right : left;
  }
  return batch;
}

// The factor of the product, which only matmul has.
inline float alpha_of(const PrepareContext& c) {
  const std::string& type = c.op().type();
  return type == "matmul" || type == "matmul_grad" ? c.attr<float>("alpha") : 1;
}

// What one product of the forward or backward pass looks like.
struct Problem {
  onednn::MatmulProblem p = {};
  Ints batch = {};                      // of Out
  Ints x_strides = {}, y_strides = {};  // in elements, 0 where repeated
  bool x_repeats = false, y_repeats = false;
};

inline Ints strides_over(const Operand& o, const Ints& batch, bool& repeats) {
  Ints strides(batch.size(), 0);
  int64_t stride = o.rows * o.columns;
  const size_t missing = batch.size() - o.batch.size();
  for (size_t i = batch.size(); i-- > 0;) {
    const int64_t extent = i < missing ? 1 : o.batch[i - missing];
    if (extent == batch[i]) strides[i] = stride;
    if (extent != batch[i]) repeats = true;
    stride *= extent;
  }
  return strides;
}

inline Problem problem_of(const PrepareContext& c) {
  const Shape &x = c.shape("X"), &y = c.shape("Y");
  if (c.op().type().starts_with("mul")) {
    const auto [xc, yc] = column_dims(c);
    return {.p = {.m = x.numel(0, xc), .n = y.numel(yc, y.rank()), .k = y.numel(0, yc)}};
  }
  const Transposes t = transposes(c);
  const Operand a = operand(x, true), b = operand(y, false);
  const bool tx = t.x && !a.vector, ty = t.y && !b.vector;
  Problem problem;
  problem.p = {.m = tx ? a.columns : a.rows,
               .n = ty ? b.rows : b.columns,
               .k = tx ? a.rows : a.columns,
               .transpose_a = tx,
               .transpose_b = ty};
  problem.batch = broadcast_batch(x, y, a, b);
  problem.x_strides = strides_over(a, problem.batch, problem.x_repeats);
  problem.y_strides = strides_over(b, problem.batch, problem.y_repeats);
  return problem;
}

// Many matrices times one: the same as one tall matrix times it.
inline bool is_tall(const Problem& q) {
  return !q.batch.empty() && !q.p.transpose_a && !q.x_repeats &&
         std::all_of(q.y_strides.begin(), q.y_strides.end(), [](int64_t s) { return s == 0; });
}

inline Ints dense_strides(const Ints& batch, int64_t size) {
  Ints strides(batch.size());
  for (size_t i = batch.size(); i-- > 0; size *= batch[i]) strides[i] = size;
  return strides;
}

// Folds the batch of a tall product into its rows, so that it is one product here too.
inline Problem folded(Problem q) {
  if (!is_tall(q)) return q;
  q.p.m *= Shape(q.batch).numel();
  q.batch.clear();
  q.x_strides.clear();
  q.y_strides.clear();
  return q;
}

// The gradient of one operand: `left` times `right`, matrix by matrix, added up over the batches in
// which the operand is repeated (stride 0).
struct OperandGradient {
  std::string_view slot = {};  // of the operand
  onednn::MatmulProblem p = {};
  std::string_view left = {}, right = {};
  Ints batch = {};
  Ints strides = {}, left_strides = {}, right_strides = {};  // over the batch
};

inline std::vector<OperandGradient> operand_gradients(const PrepareContext& c) {
  struct Factor {
    std::string_view slot;
    Ints strides;
  };
  const Problem q = folded(problem_of(c));
  const int64_t m = q.p.m, n = q.p.n, k = q.p.k;
  const bool tx = q.p.transpose_a, ty = q.p.transpose_b;
  const Factor x = {"X", q.x_strides}, y = {"Y", q.y_strides},
               d = {"Out@GRAD", dense_strides(q.batch, m * n)};
  std::vector<OperandGradient> sides;
  const auto side = [&](const Factor& of, const onednn::MatmulProblem& p, const Factor& left,
                        const Factor& right) {
    if (!c.has(grad_name(of.slot))) return;
    sides.push_back(
        {of.slot, p, left.slot, right.slot, q.batch, of.strides, left.strides, right.strides});
  };
  // dX = dOut op(Y)^T, or its transpose where X lies transposed.
  if (tx) {
    side(x, {.m = k, .n = m, .k = n, .transpose_a = ty, .transpose_b = true}, y, d);
  } else {
    side(x, {.m = m, .n = k, .k = n, .transpose_b = !ty}, d, y);
  }
  // dY = op(X)^T dOut, likewise.
  if (ty) {
    side(y, {.m = n, .n = k, .k = m, .transpose_a = true, .transpose_b = tx}, d, x);
  } else {
    side(y, {.m = k, .n = n, .k = m, .transpose_a = !tx}, x, d);
  }
  return sides;
}

}  // namespace flotilla::ops
