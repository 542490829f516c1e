// flotilla/ops/math/matmul_mul_bmm.cc
//
// mul, matmul_v2, matmul, bmm: products of matrices. mul flattens both operands to matrices;
// matmul_v2 and matmul multiply the last two axes and broadcast the ones before. A vector on the
// left is a row, on the right a column, and leaves no axis behind.

#include <algorithm>
#include <optional>

#include "flotilla/kernel/in_order.h"
#include "flotilla/ops/common/product.h"
#include "flotilla/ops/math/matmul_problem.h"

namespace flotilla::ops {
namespace {

// ---- Shapes -------------------------------------------------------------------------------------

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

template <typename T>
struct Times {
  T alpha = 1;

  explicit Times(const PrepareContext& c) : alpha(static_cast<T>(alpha_of(c))) {}
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

template <typename T>
class OperandGrad {
 public:
  OperandGrad(PrepareContext& c, const OperandGradient& of) : of_(of), first_(c, of.p) {
    onednn::MatmulProblem adding = of.p;
    adding.accumulate = true;
    if (!of.batch.empty()) more_.emplace(c, adding);
  }

  void run(const T* left, const T* right, T* out) const {
    for (int64_t i = 0, n = Shape(of_.batch).numel(); i < n; ++i) {
      // The first batch that reaches a place of the operand is the one with index 0 on every axis
      // along which it is repeated.
      bool is_first = true;
      int64_t rest = i;
      for (size_t axis = of_.batch.size(); axis-- > 0;) {
        is_first = is_first && (of_.strides[axis] != 0 || rest % of_.batch[axis] == 0);
        rest /= of_.batch[axis];
      }
      const auto at = [&](const Ints& strides) { return place_in(of_.batch, strides, i); };
      (is_first ? first_ : *more_)
          .run(left + at(of_.left_strides), right + at(of_.right_strides), out + at(of_.strides));
    }
  }

 private:
  OperandGradient of_;
  Product<T> first_;                // writes
  std::optional<Product<T>> more_;  // adds
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  std::vector<Step> steps;
  for (const OperandGradient& of : operand_gradients(c)) {
    steps.push_back([grad = OperandGrad<T>(c, of), times_alpha = Times<T>(c),
                     count = c.shape(of.slot).numel(), a = c.in<T>(of.left), b = c.in<T>(of.right),
                     out = c.out<T>(grad_name(of.slot))] {
      grad.run(a.data(), b.data(), out.data());
      times_alpha(out.data(), count);
    });
  }
  return in_order(std::move(steps));
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
