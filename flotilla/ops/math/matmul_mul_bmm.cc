// flotilla/ops/math/matmul_mul_bmm.cc
//
// mul, matmul_v2, matmul, bmm: products of matrices. mul flattens both operands to matrices;
// matmul_v2 and matmul multiply the last two axes and broadcast the ones before. A vector on the
// left is a row, on the right a column, and leaves no axis behind.

#include <algorithm>
#include <optional>
#include <tuple>

#include "flotilla/kernel/in_order.h"
#include "flotilla/ops/common/product.h"

namespace flotilla::ops {
namespace {

// ---- Shapes -------------------------------------------------------------------------------------

template <typename Context>
std::pair<int64_t, int64_t> column_dims(const Context& c) {
  return {c.template attr<int64_t>("x_num_col_dims"), c.template attr<int64_t>("y_num_col_dims")};
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
  c.out("Out") = like(c.in("X"), std::move(out));
}

// One operand: the axes before the last two, and the matrix as it lies in memory.
struct Operand {
  Ints batch = {};
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
Ints broadcast_batch(const Shape& x, const Shape& y, const Operand& a, const Operand& b) {
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

// ---- Kernels ------------------------------------------------------------------------------------

// What one product of the forward or backward pass looks like.
struct Problem {
  onednn::MatmulProblem p = {};
  Ints batch = {};                      // of Out
  Ints x_strides = {}, y_strides = {};  // in elements, 0 where repeated
  bool x_repeats = false, y_repeats = false;
};

Ints strides_over(const Operand& o, const Ints& batch, bool& repeats) {
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

Problem problem_of(const PrepareContext& c) {
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
bool is_tall(const Problem& q) {
  return !q.batch.empty() && !q.p.transpose_a && !q.x_repeats &&
         std::all_of(q.y_strides.begin(), q.y_strides.end(), [](int64_t s) { return s == 0; });
}

template <typename T>
Product<T> forward_product(PrepareContext& c, const Problem& q) {
  onednn::MatmulProblem p = q.p;
  if (is_tall(q)) {
    p.m *= Shape(q.batch).numel();
  } else {
    p.batch = q.batch;
    p.batch_stride_a = q.x_strides;
    p.batch_stride_b = q.y_strides;
  }
  return Product<T>(c, p);
}

// The factor alpha, which only matmul has.
template <typename T>
struct Times {
  T alpha = 1;

  explicit Times(const PrepareContext& c) {
    const std::string& type = c.op().type();
    if (type == "matmul" || type == "matmul_grad") alpha = static_cast<T>(c.attr<float>("alpha"));
  }
  void operator()(T* values, int64_t count) const {
    if (alpha == 1) return;
    for (int64_t i = 0; i < count; ++i) values[i] *= alpha;
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [product = forward_product<T>(c, problem_of(c)), times_alpha = Times<T>(c),
          n = c.shape("Out").numel(), x = c.in<T>("X"), y = c.in<T>("Y"), out = c.out<T>("Out")] {
    product.run(x.data(), y.data(), out.data());
    times_alpha(out.data(), n);
  };
};

// The gradient of one operand: `left` times `right`, matrix by matrix, added up over the batches in
// which the operand is repeated.
template <typename T>
class OperandGrad {
 public:
  OperandGrad(PrepareContext& c, const onednn::MatmulProblem& p, Ints batch, Ints left, Ints right,
              Ints out)
      : first_(c, p),
        batch_(std::move(batch)),
        left_(std::move(left)),
        right_(std::move(right)),
        out_(std::move(out)) {
    onednn::MatmulProblem adding = p;
    adding.accumulate = true;
    if (!batch_.empty()) more_.emplace(c, adding);
  }

  void run(const T* left, const T* right, T* out) const {
    for (int64_t i = 0, n = Shape(batch_).numel(); i < n; ++i) {
      // The first batch that reaches a place of the operand is the one with index 0 on every axis
      // along which it is repeated.
      bool is_first = true;
      int64_t rest = i;
      for (size_t axis = batch_.size(); axis-- > 0;) {
        is_first = is_first && (out_[axis] != 0 || rest % batch_[axis] == 0);
        rest /= batch_[axis];
      }
      const auto at = [&](const Ints& strides) { return place_in(batch_, strides, i); };
      (is_first ? first_ : *more_).run(left + at(left_), right + at(right_), out + at(out_));
    }
  }

 private:
  Product<T> first_;                // writes
  std::optional<Product<T>> more_;  // adds
  Ints batch_, left_, right_, out_;
};

Ints dense_strides(const Ints& batch, int64_t size) {
  Ints strides(batch.size());
  for (size_t i = batch.size(); i-- > 0; size *= batch[i]) strides[i] = size;
  return strides;
}

// Folds the batch of a tall product into its rows, so that it is one product here too.
Problem folded(Problem q) {
  if (!is_tall(q)) return q;
  q.p.m *= Shape(q.batch).numel();
  q.batch.clear();
  q.x_strides.clear();
  q.y_strides.clear();
  return q;
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  struct Factor {
    std::string_view slot;
    Ints strides;
  };
  const Problem q = folded(problem_of(c));
  const auto [m, n, k] = std::tuple(q.p.m, q.p.n, q.p.k);
  const bool tx = q.p.transpose_a, ty = q.p.transpose_b;
  const Factor x = {"X", q.x_strides}, y = {"Y", q.y_strides},
               d = {"Out@GRAD", dense_strides(q.batch, m * n)};
  const auto side = [&](const Factor& of, const onednn::MatmulProblem& p, const Factor& left,
                        const Factor& right) -> Step {
    const std::string slot = grad_name(of.slot);
    if (!c.has(slot)) return {};
    return [grad = OperandGrad<T>(c, p, q.batch, left.strides, right.strides, of.strides),
            times_alpha = Times<T>(c), count = c.shape(of.slot).numel(), a = c.in<T>(left.slot),
            b = c.in<T>(right.slot), out = c.out<T>(slot)] {
      grad.run(a.data(), b.data(), out.data());
      times_alpha(out.data(), count);
    };
  };
  // dX = dOut op(Y)^T, or its transpose where X lies transposed.
  const Step dx =
      tx ? side(x, {.m = k, .n = m, .k = n, .transpose_a = ty, .transpose_b = true}, y, d)
         : side(x, {.m = m, .n = k, .k = n, .transpose_b = !ty}, d, y);
  // dY = op(X)^T dOut, likewise.
  const Step dy =
      ty ? side(y, {.m = n, .n = k, .k = m, .transpose_a = true, .transpose_b = tx}, d, x)
         : side(y, {.m = k, .n = n, .k = m, .transpose_a = !tx}, x, d);
  return in_order({dx, dy});
};

// ---- Definitions --------------------------------------------------------------------------------

// Hints for int8 that the gradients of 1.8 ask for too; they change nothing here.
AttrSpec hint(std::string name, Attr initial) {
  return {std::move(name), std::move(initial), "ignored"};
}

const OpDef& define(std::string type, std::string doc, std::vector<AttrSpec> attrs,
                    void (*infer)(InferContext&) = infer_matmul) {
  return define_op({.type = std::move(type),
                    .doc = std::move(doc),
                    .inputs = {{"X", "left operand"}, {"Y", "right operand"}},
                    .outputs = {{"Out", "product"}},
                    .attrs = std::move(attrs),
                    .infer = infer,
                    .grad = grad_op({"X", "Y"}, {.kernels = kernels_for<float, double>(backward)}),
                    .kernels = kernels_for<float, double>(forward)});
}

const OpDef& mul = define("mul", "Flattens X and Y to matrices and multiplies them.",
                          {{"x_num_col_dims", int32_t{1}, "axes of X that become rows"},
                           {"y_num_col_dims", int32_t{1}, "axes of Y that become rows"},
                           hint("scale_x", 1.0f),
                           hint("scale_y", std::vector<float>{1}),
                           hint("scale_out", 1.0f),
                           hint("force_fp32_output", false)},
                          infer_mul);

const OpDef& matmul_v2 =
    define("matmul_v2", "Multiplies the matrices in the last two axes; the axes before broadcast.",
           {{"trans_x", false, "X lies transposed"}, {"trans_y", false, "Y lies transposed"}});

const OpDef& matmul =
    define("matmul", "alpha times the product of the matrices in the last two axes.",
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

const OpDef& bmm = define("bmm", "Multiplies matrix by matrix; both operands have three axes.", {});

}  // namespace
}  // namespace flotilla::ops
