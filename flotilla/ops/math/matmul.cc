// flotilla/ops/math/matmul.cc
//
// mul, matmul_v2, matmul, bmm: products of matrices. mul flattens both operands to matrices;
// matmul_v2 and matmul multiply the last two axes and broadcast the ones before. A vector on the
// left is a row, on the right a column, and leaves no axis behind.

#include <algorithm>

#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/math/product.h"

namespace flotilla::ops {
namespace {

// ---- mul

struct MulSizes {
  int64_t m = 0, k = 0, n = 0;
};

template <typename Context>
std::pair<int64_t, int64_t> column_dims(const Context& c) {
  return {c.template attr<int64_t>("x_num_col_dims"), c.template attr<int64_t>("y_num_col_dims")};
}

MulSizes mul_sizes(const Shape& x, const Shape& y, int64_t x_columns, int64_t y_columns) {
  return {x.numel(0, x_columns), x.numel(x_columns, x.rank()), y.numel(y_columns, y.rank())};
}

void infer_mul(InferContext& c) {
  const Shape &x = c.in("X").shape, &y = c.in("Y").shape;
  const auto [xc, yc] = column_dims(c);
  require(0 < xc && xc < x.rank(),
          "x_num_col_dims must lie in [1, {}) because X has shape {}, but is {}", x.rank(), x, xc);
  require(0 < yc && yc < y.rank(),
          "y_num_col_dims must lie in [1, {}) because Y has shape {}, but is {}", y.rank(), y, yc);
  const int64_t columns = x.numel(xc, x.rank()), rows = y.numel(0, yc);
  require(columns < 0 || rows < 0 || columns == rows,
          "X of shape {} has {} columns from axis {} on, but Y of shape {} has {} rows", x, columns,
          xc, y, rows);
  Shape out;
  for (int64_t a = 0; a < xc; ++a) out.push_back(x[a]);
  for (int64_t a = yc; a < y.rank(); ++a) out.push_back(y[a]);
  c.out("Out") = c.in("X");
  c.out("Out").shape = out;
  c.out("Out").value.reset();
}

constexpr auto mul_forward = []<typename T>(PrepareContext& c) -> Step {
  const auto [xc, yc] = column_dims(c);
  const MulSizes s = mul_sizes(c.shape("X"), c.shape("Y"), xc, yc);
  return [product = Product<T>(c, {.m = s.m, .n = s.n, .k = s.k}), x = c.in<T>("X"),
          y = c.in<T>("Y"), out = c.out<T>("Out")] { product.run(x.data(), y.data(), out.data()); };
};

// dX = dOut Y^T, dY = X^T dOut
constexpr auto mul_backward = []<typename T>(PrepareContext& c) -> Step {
  const auto [xc, yc] = column_dims(c);
  const MulSizes s = mul_sizes(c.shape("X"), c.shape("Y"), xc, yc);
  Step dx, dy;
  if (c.has("X@GRAD")) {
    dx = [product = Product<T>(c, {.m = s.m, .n = s.k, .k = s.n, .transpose_b = true}),
          dout = c.in<T>("Out@GRAD"), y = c.in<T>("Y"),
          out = c.out<T>("X@GRAD")] { product.run(dout.data(), y.data(), out.data()); };
  }
  if (c.has("Y@GRAD")) {
    dy = [product = Product<T>(c, {.m = s.k, .n = s.n, .k = s.m, .transpose_a = true}),
          dout = c.in<T>("Out@GRAD"), x = c.in<T>("X"),
          out = c.out<T>("Y@GRAD")] { product.run(x.data(), dout.data(), out.data()); };
  }
  return [dx, dy] {
    if (dx) dx();
    if (dy) dy();
  };
};

// ---- matmul_v2

// One operand: the axes before the last two, and the matrix as it lies in memory.
struct Operand {
  std::vector<int64_t> batch = {};
  int64_t rows = 1, columns = 1;
  bool vector = false;
};

Operand operand(const Shape& shape, bool left) {
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
std::vector<int64_t> broadcast_batch(const Shape& x, const Shape& y, const Operand& a,
                                     const Operand& b) {
  std::vector<int64_t> batch(std::max(a.batch.size(), b.batch.size()), 1);
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

void infer_matmul(InferContext& c) {
  const Shape &x = c.in("X").shape, &y = c.in("Y").shape;
  require(x.rank() > 0 && y.rank() > 0, "X and Y must have at least one axis, but are {} and {}", x,
          y);
  const Transposes t = transposes(c);
  const Operand a = operand(x, true), b = operand(y, false);
  const int64_t m = t.x && !a.vector ? a.columns : a.rows,
                k = t.x && !a.vector ? a.rows : a.columns;
  const int64_t inner = t.y && !b.vector ? b.columns : b.rows,
                n = t.y && !b.vector ? b.rows : b.columns;
  require(k == inner || k == -1 || inner == -1,
          "the inner axes of X {} and Y {} must be equal, but are {} and {}", x, y, k, inner);
  Shape out(broadcast_batch(x, y, a, b));
  if (!a.vector) out.push_back(m);
  if (!b.vector) out.push_back(n);
  if (out.rank() == 0) out.push_back(1);
  c.out("Out") = VarMeta::tensor(c.dtype("X"), out);
}

// What one product of the forward or backward pass looks like.
struct Problem {
  onednn::MatmulProblem p = {};
  std::vector<int64_t> batch = {};                      // of Out
  std::vector<int64_t> x_strides = {}, y_strides = {};  // in elements, 0 where repeated
  bool x_repeats = false, y_repeats = false;
};

std::vector<int64_t> strides_over(const Operand& o, const std::vector<int64_t>& batch,
                                  bool& repeats) {
  std::vector<int64_t> strides(batch.size(), 0);
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

Problem problem_of(const PrepareContext& c) {
  const Transposes t = transposes(c);
  const Operand a = operand(c.shape("X"), true), b = operand(c.shape("Y"), false);
  const bool tx = t.x && !a.vector, ty = t.y && !b.vector;
  Problem problem;
  problem.p = {.m = tx ? a.columns : a.rows,
               .n = ty ? b.rows : b.columns,
               .k = tx ? a.rows : a.columns,
               .transpose_a = tx,
               .transpose_b = ty};
  problem.batch = broadcast_batch(c.shape("X"), c.shape("Y"), a, b);
  problem.x_strides = strides_over(a, problem.batch, problem.x_repeats);
  problem.y_strides = strides_over(b, problem.batch, problem.y_repeats);
  return problem;
}

int64_t count_of(const std::vector<int64_t>& batch) {
  int64_t count = 1;
  for (const int64_t extent : batch) count *= extent;
  return count;
}

// Many matrices times one: the same as one tall matrix times it.
bool is_tall(const Problem& q) {
  return !q.batch.empty() && !q.p.transpose_a && !q.x_repeats &&
         std::all_of(q.y_strides.begin(), q.y_strides.end(), [](int64_t s) { return s == 0; });
}

template <typename T>
Product<T> forward_product(PrepareContext& c, const Problem& q) {
  onednn::MatmulProblem p = q.p;
  if (is_tall(q)) {
    p.m *= count_of(q.batch);
  } else {
    p.batch = q.batch;
    p.batch_stride_a = q.x_strides;
    p.batch_stride_b = q.y_strides;
  }
  return Product<T>(c, p);
}

constexpr auto matmul_forward = []<typename T>(PrepareContext& c) -> Step {
  const Problem q = problem_of(c);
  const T alpha = c.op().type() == "matmul" ? static_cast<T>(c.attr<float>("alpha")) : T{1};
  const int64_t n = c.shape("Out").numel();
  return [product = forward_product<T>(c, q), alpha, n, x = c.in<T>("X"), y = c.in<T>("Y"),
          out = c.out<T>("Out")] {
    product.run(x.data(), y.data(), out.data());
    if (alpha != 1)
      std::transform(out.data(), out.data() + n, out.data(), [=](T v) { return v * alpha; });
  };
};

// The gradient of one operand: `left` times `right`, matrix by matrix, added up over the batches in
// which the operand is repeated.
template <typename T>
struct OperandGrad {
  Product<T> first;  // writes
  Product<T> more;   // adds
  std::vector<int64_t> batch = {};
  std::vector<int64_t> left_strides = {}, right_strides = {}, out_strides = {};

  static int64_t offset(int64_t index, const std::vector<int64_t>& batch,
                        const std::vector<int64_t>& strides) {
    int64_t at = 0;
    for (size_t i = batch.size(); i-- > 0;) {
      at += index % batch[i] * strides[i];
      index /= batch[i];
    }
    return at;
  }

  void run(const T* left, const T* right, T* out) const {
    for (int64_t i = 0, n = count_of(batch); i < n; ++i) {
      // The first batch that reaches a place of the operand is the one with index 0 on every axis
      // along which it is repeated.
      bool is_first = true;
      int64_t rest = i;
      for (size_t axis = batch.size(); axis-- > 0;) {
        is_first = is_first && (out_strides[axis] != 0 || rest % batch[axis] == 0);
        rest /= batch[axis];
      }
      (is_first ? first : more)
          .run(left + offset(i, batch, left_strides), right + offset(i, batch, right_strides),
               out + offset(i, batch, out_strides));
    }
  }
};

template <typename T>
OperandGrad<T> operand_grad(PrepareContext& c, onednn::MatmulProblem p,
                            const std::vector<int64_t>& batch, std::vector<int64_t> left,
                            std::vector<int64_t> right, std::vector<int64_t> out) {
  onednn::MatmulProblem adding = p;
  adding.accumulate = true;
  return {Product<T>(c, p), Product<T>(c, adding), batch,
          std::move(left),  std::move(right),      std::move(out)};
}

std::vector<int64_t> dense_strides(const std::vector<int64_t>& batch, int64_t size) {
  std::vector<int64_t> strides(batch.size());
  for (size_t i = batch.size(); i-- > 0; size *= batch[i]) strides[i] = size;
  return strides;
}

// Folds the batch of a tall product into its rows, so that it is one product here too.
Problem folded(Problem q) {
  if (!is_tall(q)) return q;
  q.p.m *= count_of(q.batch);
  q.batch.clear();
  q.x_strides.clear();
  q.y_strides.clear();
  return q;
}

constexpr auto matmul_backward = []<typename T>(PrepareContext& c) -> Step {
  const Problem q = folded(problem_of(c));
  const auto [m, n, k] = std::tuple(q.p.m, q.p.n, q.p.k);
  const bool tx = q.p.transpose_a, ty = q.p.transpose_b;
  const std::vector<int64_t> d_strides = dense_strides(q.batch, m * n);
  const T alpha = c.op().type() == "matmul_grad" ? static_cast<T>(c.attr<float>("alpha")) : T{1};
  const auto scaled = [alpha](T* values, int64_t count) {
    if (alpha != 1) std::transform(values, values + count, values, [=](T v) { return v * alpha; });
  };
  Step dx, dy;
  if (c.has("X@GRAD")) {
    // dX = dOut op(Y)^T, or its transpose where X lies transposed.
    const onednn::MatmulProblem p =
        tx ? onednn::MatmulProblem{.m = k, .n = m, .k = n, .transpose_a = ty, .transpose_b = true}
           : onednn::MatmulProblem{.m = m, .n = k, .k = n, .transpose_b = !ty};
    const auto grad = operand_grad<T>(c, p, q.batch, tx ? q.y_strides : d_strides,
                                      tx ? d_strides : q.y_strides, q.x_strides);
    dx = [grad, tx, scaled, count = c.shape("X").numel(), d = c.in<T>("Out@GRAD"), y = c.in<T>("Y"),
          out = c.out<T>("X@GRAD")] {
      grad.run(tx ? y.data() : d.data(), tx ? d.data() : y.data(), out.data());
      scaled(out.data(), count);
    };
  }
  if (c.has("Y@GRAD")) {
    // dY = op(X)^T dOut, or its transpose where Y lies transposed.
    const onednn::MatmulProblem p =
        ty ? onednn::MatmulProblem{.m = n, .n = k, .k = m, .transpose_a = true, .transpose_b = tx}
           : onednn::MatmulProblem{.m = k, .n = n, .k = m, .transpose_a = !tx};
    const auto grad = operand_grad<T>(c, p, q.batch, ty ? d_strides : q.x_strides,
                                      ty ? q.x_strides : d_strides, q.y_strides);
    dy = [grad, ty, scaled, count = c.shape("Y").numel(), d = c.in<T>("Out@GRAD"), x = c.in<T>("X"),
          out = c.out<T>("Y@GRAD")] {
      grad.run(ty ? d.data() : x.data(), ty ? x.data() : d.data(), out.data());
      scaled(out.data(), count);
    };
  }
  return [dx, dy] {
    if (dx) dx();
    if (dy) dy();
  };
};

// ---- definitions

// Hints for int8 that the gradients of 1.8 ask for too; they change nothing here.
AttrSpec hint(std::string name, Attr initial) {
  return {std::move(name), std::move(initial), "not used"};
}

const OpDef& define(OpDef def, std::vector<Kernel> backward) {
  def.inputs = {{"X", "left operand"}, {"Y", "right operand"}};
  def.outputs = {{"Out", "product"}};
  def.grad = grad_op({"X", "Y"}, {.kernels = std::move(backward)});
  return define_op(std::move(def));
}

const OpDef& mul = define({.type = "mul",
                           .doc = "Flattens X and Y to matrices and multiplies them.",
                           .attrs = {{"x_num_col_dims", int32_t{1}, "axes of X that become rows"},
                                     {"y_num_col_dims", int32_t{1}, "axes of Y that become rows"},
                                     hint("scale_x", 1.0f),
                                     hint("scale_y", std::vector<float>{1}),
                                     hint("scale_out", 1.0f),
                                     hint("force_fp32_output", false)},
                           .infer = infer_mul,
                           .kernels = kernels_for<float, double>(mul_forward)},
                          kernels_for<float, double>(mul_backward));

const OpDef& define_matmul(std::string type, std::string doc, std::vector<AttrSpec> attrs) {
  return define({.type = std::move(type),
                 .doc = std::move(doc),
                 .attrs = std::move(attrs),
                 .infer = infer_matmul,
                 .kernels = kernels_for<float, double>(matmul_forward)},
                kernels_for<float, double>(matmul_backward));
}

const OpDef& matmul_v2 = define_matmul(
    "matmul_v2", "Multiplies the matrices in the last two axes; the axes before broadcast.",
    {{"trans_x", false, "X lies transposed"}, {"trans_y", false, "Y lies transposed"}});

const OpDef& matmul =
    define_matmul("matmul", "alpha times the product of the matrices in the last two axes.",
                  {{"transpose_X", false, "X lies transposed"},
                   {"transpose_Y", false, "Y lies transposed"},
                   {"alpha", 1.0f, "factor of the product"},
                   hint("Scale_x", 1.0f),
                   hint("Scale_y", 1.0f),
                   hint("Scale_out", 1.0f),
                   hint("force_fp32_output", false),
                   hint("fused_reshape_Out", std::vector<int32_t>{}),
                   hint("fused_transpose_Out", std::vector<int32_t>{}),
                   hint("head_number", int32_t{1})});

const OpDef& bmm =
    define_matmul("bmm", "Multiplies matrix by matrix; both operands have three axes.", {});

}  // namespace
}  // namespace flotilla::ops
