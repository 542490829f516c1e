// flotilla/testing/toy_ops.cc
//
// Small operators for the tests of ir, op, autodiff, passes and plan. They exist in test binaries
// only, have kernels for f32 and f64, and each shows one trait:
//
//   toy_scale   Out = factor * X       the gradient reads no forward value
//   toy_mul     Out = X * Y            the gradient reads both inputs
//   toy_square  Out = X * X            the gradient reads what an overwriting op destroys
//   toy_sign    Out = sign(X)          not differentiable
//   toy_halves  X [2n] -> Out [n],[n]  a list of outputs: one may be without a gradient
//   toy_join    X [n],[n] -> Out [2n]  a list of inputs, and a custom rule (toy_halves)
//   toy_sum     Out [1] = sum(X)       the gradient reads the shape of X only
//   toy_gather  Out = W[Ids]           an input without a gradient, and sparse rows
//   toy_rows    Rows, Value -> Out     makes sparse rows

#include <algorithm>

#include "flotilla/kernel/prepare.h"
#include "flotilla/op/grad_context.h"
#include "flotilla/op/op_def.h"

namespace flotilla {
namespace {

void same_as_x(InferContext& c) { c.out("Out") = c.in("X"); }

// One output, element by element: f(x, y) where y may be missing.
template <typename T, typename F>
Step elementwise(PrepareContext& c, std::string_view x_slot, std::string_view y_slot,
                 std::string_view out_slot, F f) {
  const int64_t n = c.shape(x_slot).numel();
  const In<T> x = c.in<T>(x_slot);
  const In<T> y = y_slot.empty() ? x : c.in<T>(y_slot);
  return [n, x, y, f, out = c.out<T>(out_slot)] {
    for (int64_t i = 0; i < n; ++i) out.data()[i] = f(x.data()[i], y.data()[i]);
  };
}

const AttrSpec kFactor = {"factor", 1.0f, "what every element is multiplied with"};

template <typename T>
Step scale(PrepareContext& c, std::string_view in, std::string_view out) {
  return elementwise<T>(c, in, {}, out,
                        [k = static_cast<T>(c.attr<float>("factor"))](T x, T) { return k * x; });
}

const OpDef& toy_scale = define_op({
    .type = "toy_scale",
    .doc = "Multiplies with a factor.",
    .inputs = {{"X", "any tensor"}},
    .outputs = {{.name = "Out", .doc = "like X", .like = "X"}},
    .attrs = {kFactor},
    .infer = same_as_x,
    .grad = grad_op({}, {.kernels = kernels_for<float, double>([]<typename T>(PrepareContext& c) {
                           return scale<T>(c, "Out@GRAD", "X@GRAD");
                         })}),
    .kernels = kernels_for<float, double>(
        []<typename T>(PrepareContext& c) { return scale<T>(c, "X", "Out"); }),
});

void infer_mul(InferContext& c) {
  require(c.in("X").shape == c.in("Y").shape,
          "X and Y must have one shape, but X is {} and Y is {}", c.in("X").shape, c.in("Y").shape);
  c.out("Out") = c.in("X");
}

void infer_mul_grad(InferContext& c) {
  require(c.in("Y").shape == c.in("Out@GRAD").shape,
          "Y and Out@GRAD must have one shape, but Y is {} and Out@GRAD is {}", c.in("Y").shape,
          c.in("Out@GRAD").shape);
  for (const char* slot : {"X@GRAD", "Y@GRAD"}) c.out(slot) = c.in("Out@GRAD");
}

constexpr auto mul_backward = []<typename T>(PrepareContext& c) -> Step {
  const auto times = [](T a, T b) { return a * b; };
  const Step none = [] {};
  const Step dx = c.has("X@GRAD") ? elementwise<T>(c, "Out@GRAD", "Y", "X@GRAD", times) : none;
  const Step dy = c.has("Y@GRAD") ? elementwise<T>(c, "Out@GRAD", "X", "Y@GRAD", times) : none;
  return [dx, dy] {
    dx();
    dy();
  };
};

const OpDef& toy_mul = define_op({
    .type = "toy_mul",
    .doc = "Multiplies element by element.",
    .inputs = {{"X", "any tensor"}, {"Y", "like X"}},
    .outputs = {{"Out", "like X"}},
    .infer = infer_mul,
    .grad = grad_op({"X", "Y"},
                    {.kernels = kernels_for<float, double>(mul_backward), .infer = infer_mul_grad}),
    .kernels = kernels_for<float, double>([]<typename T>(PrepareContext& c) {
      return elementwise<T>(c, "X", "Y", "Out", [](T x, T y) { return x * y; });
    }),
});

constexpr auto square_backward = []<typename T>(PrepareContext& c) -> Step {
  return elementwise<T>(c, "X", "Out@GRAD", "X@GRAD", [](T x, T dy) { return 2 * x * dy; });
};

const OpDef& toy_square = define_op({
    .type = "toy_square",
    .doc = "Squares every element.",
    .inputs = {{"X", "any tensor"}},
    .outputs = {{"Out", "like X"}},
    .infer = same_as_x,
    .grad = grad_op({"X"}, {.kernels = kernels_for<float, double>(square_backward)}),
    .kernels = kernels_for<float, double>([]<typename T>(PrepareContext& c) {
      return elementwise<T>(c, "X", {}, "Out", [](T x, T) { return x * x; });
    }),
});

const OpDef& toy_sign = define_op({
    .type = "toy_sign",
    .doc = "-1, 0 or 1.",
    .inputs = {{"X", "any tensor"}},
    .outputs = {{"Out", "like X"}},
    .infer = same_as_x,
    .kernels = kernels_for<float, double>([]<typename T>(PrepareContext& c) {
      return elementwise<T>(c, "X", {}, "Out", [](T x, T) { return T((x > 0) - (x < 0)); });
    }),
});

void infer_halves(InferContext& c) {
  const Shape& x = c.in("X").shape;
  require(x.rank() == 1 && (x[0] < 0 || x[0] % 2 == 0), "X must have an even length, but is {}", x);
  for (size_t i = 0; i < 2; ++i) {
    c.out("Out", i) = VarMeta::tensor(c.in("X").dtype, {x[0] < 0 ? -1 : x[0] / 2});
  }
}

template <typename T>
Step halves(PrepareContext& c) {
  const int64_t n = c.shape("X").numel() / 2;
  return [n, x = c.in<T>("X"), a = c.out<T>("Out", 0), b = c.out<T>("Out", 1)] {
    std::copy_n(x.data(), n, a.data());
    std::copy_n(x.data() + n, n, b.data());
  };
}

VarMeta joined(InferContext& c, std::string_view slot) {
  const VarMeta &a = c.in(slot, 0), &b = c.in(slot, 1);
  require(a.shape == b.shape, "{} must be two vectors of one length, but they are {} and {}", slot,
          a.shape, b.shape);
  return VarMeta::tensor(a.dtype, {a.shape[0] < 0 ? -1 : a.shape[0] * 2});
}

template <typename T>
Step join(PrepareContext& c, std::string_view in, std::string_view out) {
  const int64_t n = c.shape(in).numel();
  return [n, a = c.in<T>(in, 0), b = c.in<T>(in, 1), y = c.out<T>(out)] {
    std::copy_n(a.data(), n, y.data());
    std::copy_n(b.data(), n, y.data() + n);
  };
}

const OpDef& toy_halves = define_op({
    .type = "toy_halves",
    .doc = "Cuts a vector in two.",
    .inputs = {{"X", "vector of even length"}},
    .outputs = {{.name = "Out", .doc = "both halves", .list = true}},
    .infer = infer_halves,
    .grad =
        grad_op({}, {.kernels = kernels_for<float, double>([]<typename T>(PrepareContext& c) {
                       return join<T>(c, "Out@GRAD", "X@GRAD");
                     }),
                     .infer = [](InferContext& c) { c.out("X@GRAD") = joined(c, "Out@GRAD"); }}),
    .kernels =
        kernels_for<float, double>([]<typename T>(PrepareContext& c) { return halves<T>(c); }),
});

// toy_halves writes both gradients, also one that nobody needs.
void join_grad(GradContext& c) {
  std::vector<std::string> grads;
  for (size_t i = 0; i < 2; ++i) grads.push_back(c.input_grad("X", i));
  for (std::string& grad : grads) {
    if (grad.empty()) grad = fmt::format("{}@UNUSED", c.op().output("Out"));
  }
  c.emit("toy_halves", {{"X", {c.output_grad("Out")}}}, {{"Out", grads}}, {});
}

const OpDef& toy_join = define_op({
    .type = "toy_join",
    .doc = "Puts one vector behind the other.",
    .inputs = {{.name = "X", .doc = "two vectors of one length", .list = true}},
    .outputs = {{"Out", "twice as long"}},
    .infer = [](InferContext& c) { c.out("Out") = joined(c, "X"); },
    .grad = custom_grad(join_grad),
    .kernels = kernels_for<float, double>(
        []<typename T>(PrepareContext& c) { return join<T>(c, "X", "Out"); }),
});

constexpr auto sum = []<typename T>(PrepareContext& c) -> Step {
  const int64_t n = c.shape("X").numel();
  return [n, x = c.in<T>("X"), y = c.out<T>("Out")] {
    T total = 0;
    for (int64_t i = 0; i < n; ++i) total += x.data()[i];
    *y.data() = total;
  };
};

constexpr auto sum_backward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t n = c.shape("X").numel();
  return [n, dy = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
    std::fill_n(dx.data(), n, *dy.data());
  };
};

const OpDef& toy_sum = define_op({
    .type = "toy_sum",
    .doc = "The sum of all elements.",
    .inputs = {{"X", "any tensor"}},
    .outputs = {{"Out", "one element"}},
    .infer = [](InferContext& c) { c.out("Out") = VarMeta::tensor(c.in("X").dtype, {1}); },
    .grad = grad_op({shape_of("X")}, {.kernels = kernels_for<float, double>(sum_backward)}),
    .kernels = kernels_for<float, double>(sum),
});

void infer_gather(InferContext& c) {
  require(c.in("Ids").shape.rank() == 1, "Ids must be a list, but has shape {}", c.in("Ids").shape);
  c.out("Out") = VarMeta::tensor(c.in("W").dtype, {c.in("Ids").shape[0], c.in("W").shape[1]});
}

void infer_gather_grad(InferContext& c) {
  c.out("W@GRAD") = {.kind = VarKind::kSelectedRows,
                     .dtype = c.in("W").dtype,
                     .shape = c.in("W").shape,
                     .rows = c.in("Ids").shape[0]};
}

constexpr auto gather = []<typename T>(PrepareContext& c) -> Step {
  const int64_t n = c.shape("Ids").numel(), width = c.shape("W")[1], height = c.shape("W")[0];
  return [=, ids = c.in<int64_t>("Ids"), w = c.in<T>("W"), y = c.out<T>("Out")] {
    for (int64_t i = 0; i < n; ++i) {
      require(0 <= ids.data()[i] && ids.data()[i] < height, "there is no row {}", ids.data()[i]);
      std::copy_n(w.data() + ids.data()[i] * width, width, y.data() + i * width);
    }
  };
};

template <typename T>
Step to_rows(PrepareContext& c, std::string_view numbers, std::string_view value,
             std::string_view out) {
  const SparseOut<T> rows = c.sparse_out<T>(out);
  return [rows, ids = c.in<int64_t>(numbers), v = c.in<T>(value)] {
    std::copy_n(ids.data(), rows.count, rows.rows.data());
    std::copy_n(v.data(), rows.count * rows.width, rows.value.data());
  };
}

const OpDef& toy_gather = define_op({
    .type = "toy_gather",
    .doc = "Picks rows.",
    .inputs = {{"W", "[n, width]"}, {.name = "Ids", .doc = "row numbers", .no_grad = true}},
    .outputs = {{"Out", "[ids, width]"}},
    .infer = infer_gather,
    .grad = grad_op({shape_of("W"), "Ids"},
                    {.kernels = kernels_for<float, double>([]<typename T>(PrepareContext& c) {
                       return to_rows<T>(c, "Ids", "Out@GRAD", "W@GRAD");
                     }),
                     .infer = infer_gather_grad}),
    .kernels = kernels_for<float, double>(gather),
});

void infer_rows(InferContext& c) {
  Shape dense = c.in("Value").shape;
  const Shape& rows = c.in("Rows").shape;
  require(rows.rank() == 1 && (rows[0] == dense[0] || rows[0] < 0 || dense[0] < 0),
          "Rows must number the rows of Value, but they are {} and {}", rows, dense);
  dense[0] = c.attr<int64_t>("height");
  c.out("Out") = {.kind = VarKind::kSelectedRows,
                  .dtype = c.in("Value").dtype,
                  .shape = dense,
                  .rows = c.in("Rows").shape[0]};
}

const OpDef& toy_rows = define_op({
    .type = "toy_rows",
    .doc = "Makes sparse rows.",
    .inputs = {{"Rows", "row numbers"}, {"Value", "[rows, ...]"}},
    .outputs = {{"Out", "sparse rows of a tensor with `height` rows"}},
    .attrs = {{"height", int64_t{0}, "rows of the dense tensor"}},
    .infer = infer_rows,
    .kernels = kernels_for<float, double>(
        []<typename T>(PrepareContext& c) { return to_rows<T>(c, "Rows", "Value", "Out"); }),
    .dtype_slot = "Value",
});

}  // namespace
}  // namespace flotilla
