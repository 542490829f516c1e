// flotilla/ops/nn/softmax.cc
//
// softmax:     Out = exp(X - max) / sum(exp(X - max)), slice by slice along `axis`, no less than
//              exp(-64) / sum(exp(X - max))
// log_softmax: Out = X - max - log(sum(exp(X - max))), no less than -64 - log(sum(exp(X - max)))
//
// Chances of attention, [batch, heads, rows, columns]:
//
// fused_softmax_mask:                softmax(X + Mask), where all heads have one mask
// fused_softmax_mask_upper_triangle: softmax of each row up to the diagonal, zeros after it

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/softmax_rows.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_axis("X", c.in("X").shape, c.attr<int64_t>("axis"));
  c.out("Out") = c.in("X");
}

// Raises the smallest logarithms to 64 below the largest of their slice, as Paddle does.
template <typename T>
void keep_logs_near(const Slices& s, T* y) {
  keep_near_largest(s, y, T{-64}, [](T max) { return max - 64; });  // none is above 0
}

template <typename T>
void plain_log_softmax(const Slices& s, const T* x, T* y) {
  parallel_for(s.count(), s.n * 16, [=](int64_t slice) {
    const int64_t begin = s.begin(slice), end = s.end(slice);
    T max = x[begin], sum = 0;
    for (int64_t i = begin; i < end; i += s.stride) max = std::max(max, x[i]);
    for (int64_t i = begin; i < end; i += s.stride) sum += std::exp(x[i] - max);
    for (int64_t i = begin; i < end; i += s.stride) y[i] = x[i] - max - std::log(sum);
  });
}

// softmax:     dX = (dOut - sum(dOut * Out)) * Out
// log_softmax: dX = dOut - sum(dOut) * exp(Out)
template <bool kLog, typename T>
void plain_backward(const Slices& s, const T* y, const T* dy, T* dx) {
  parallel_for(s.count(), s.n * 16, [=](int64_t slice) {
    const int64_t begin = s.begin(slice), end = s.end(slice);
    T sum = 0;
    for (int64_t i = begin; i < end; i += s.stride) sum += kLog ? dy[i] : dy[i] * y[i];
    for (int64_t i = begin; i < end; i += s.stride) {
      dx[i] = kLog ? dy[i] - sum * std::exp(y[i]) : (dy[i] - sum) * y[i];
    }
  });
}

template <bool kLog>
Step forward_f32(PrepareContext& c) {
  const Shape& shape = c.shape("X");
  const int64_t axis = c.attr<int64_t>("axis");
  c.in_place("X", "Out");
  if constexpr (!kLog) {
    return [softmax = SoftmaxRows<float>(c, shape, axis), x = c.in<float>("X"),
            y = c.out<float>("Out")] { softmax.run(x.data(), y.data()); };
  }
  const auto softmax = std::make_shared<onednn::SoftmaxForward>(shape, shape.axis(axis), kLog);
  return [softmax, s = slices(shape, axis), x = c.in<float>("X"), y = c.out<float>("Out"),
          scratch = c.workspace(softmax->scratch_bytes())] {
    if (has_special_slices(s, x.data())) {
      plain_log_softmax(s, x.data(), y.data());
    } else {
      softmax->run(x.data(), y.data(), scratch.data());
    }
    keep_logs_near(s, y.data());
  };
}

template <bool kLog>
Step backward_f32(PrepareContext& c) {
  const Shape& shape = c.shape("Out");
  const int64_t axis = c.attr<int64_t>("axis");
  const auto softmax = std::make_shared<onednn::SoftmaxBackward>(shape, shape.axis(axis), kLog);
  return [softmax, s = slices(shape, axis), y = c.in<float>("Out"), dy = c.in<float>("Out@GRAD"),
          dx = c.out<float>("X@GRAD"), scratch = c.workspace(softmax->scratch_bytes())] {
    if (has_special_slices(s, y.data())) {
      plain_backward<kLog>(s, y.data(), dy.data(), dx.data());
    } else {
      softmax->run(y.data(), dy.data(), dx.data(), scratch.data());
    }
  };
}

template <bool kLog>
Step forward_f64(PrepareContext& c) {
  const Slices s = slices(c.shape("X"), c.attr<int64_t>("axis"));
  return [s, softmax = SoftmaxRows<double>(c, c.shape("X"), c.attr<int64_t>("axis")),
          x = c.in<double>("X"), y = c.out<double>("Out")] {
    if (!kLog) return softmax.run(x.data(), y.data());
    plain_log_softmax(s, x.data(), y.data());
    keep_logs_near(s, y.data());
  };
}

template <bool kLog>
Step backward_f64(PrepareContext& c) {
  return [s = slices(c.shape("Out"), c.attr<int64_t>("axis")), y = c.in<double>("Out"),
          dy = c.in<double>("Out@GRAD"), dx = c.out<double>("X@GRAD")] {
    plain_backward<kLog>(s, y.data(), dy.data(), dx.data());
  };
}

template <bool kLog>
OpDef definition(std::string type, std::string doc) {
  return {.type = std::move(type),
          .doc = std::move(doc),
          .inputs = {{"X", "tensor of rank 1 or more"}},
          .outputs = {{.name = "Out", .doc = "same shape and dtype as X", .like = "X"}},
          .attrs = {{"axis", -1, "direction of a slice; negative counts from the end"},
                    {"data_format", "AnyLayout", "of no effect"}},
          .infer = infer,
          .grad = grad_op({"Out"}, {.kernels = {{kCpu, f32, backward_f32<kLog>},
                                                {kCpu, f64, backward_f64<kLog>}}}),
          .kernels = {{kCpu, f32, forward_f32<kLog>}, {kCpu, f64, forward_f64<kLog>}}};
}

const OpDef& softmax = define_op(definition<false>(
    "softmax", "Scales each slice of X along `axis` to positive numbers of sum one."));
const OpDef& log_softmax = define_op(
    definition<true>("log_softmax", "The logarithm of softmax, computed without overflow."));

// ---- masked -------------------------------------------------------------------------------------

const Shape& check_rank(const InferContext& c) {
  const Shape& x = c.in("X").shape;
  require(x.rank() == 4, "X must have four axes, but has shape {}", x);
  return x;
}

void infer_masked(InferContext& c) {
  const Shape &x = check_rank(c), &mask = c.in("Mask").shape;
  require(fits(mask, {x[0], 1, x[2], x[3]}),
          "Mask must have the shape of X with one head, but they are {} and {}", mask, x);
  c.out("Out") = like(c.in("X"));
}

void infer_triangle(InferContext& c) {
  const Shape& x = check_rank(c);
  require(fits(x[2], x[3]), "X must have as many rows as columns, but has shape {}", x);
  c.out("Out") = like(c.in("X"));
}

void lower_masked(LowerContext& c) {
  c.result("Out", c.apply("softmax", c.add(c.in("X"), c.in("Mask"))));
}

void lower_triangle(LowerContext& c) {
  const std::string far = c.apply("fill_any_like", c.in("X"), {{"value", -1e30f}});
  const std::string mask = c.apply("tril_triu", far, {{"diagonal", 1}});
  const std::string near = c.apply("softmax", c.add(c.in("X"), mask));
  c.result("Out", c.apply("tril_triu", near, {{"lower", true}}));
}

// What is masked has no chance, and so no gradient.
void lower_grad(LowerContext& c) {
  const std::string& out = c.in(c.has("Softmax") ? "Softmax" : "Out");
  c.result("X@GRAD", c.append("softmax_grad", {{"Out", {out}}, {"Out@GRAD", {c.in("Out@GRAD")}}}));
}

// Paddle's gradient op of a masked one has another name for the result.
void mask_to_paddle(Block& block, size_t position) {
  Op& op = block.op(position);
  if (op.has_input("Out")) op.set_input("Softmax", {op.input("Out")});
  op.set_input("Out", {});
}

const Slot kX = {.name = "X", .doc = "[batch, heads, rows, columns]"};
const Slot kOut = {.name = "Out", .doc = "same shape as X", .like = "X"};

const OpDef& masked = define_op({
    .type = "fused_softmax_mask",
    .doc = "The softmax of X + Mask.",
    .inputs = {kX, {.name = "Mask", .doc = "[batch, 1, rows, columns]", .no_grad = true}},
    .outputs = {kOut},
    .infer = infer_masked,
    .grad = grad_op({"Out"}, {.lower = lower_grad,
                              .inputs = {{.name = "Out", .doc = "as before", .optional = true},
                                         {.name = "Softmax", .doc = "Out", .optional = true}},
                              .to_paddle = mask_to_paddle}),
    .lower = lower_masked,
});

const OpDef& triangle = define_op({
    .type = "fused_softmax_mask_upper_triangle",
    .doc = "The softmax of each row of X up to the diagonal.",
    .inputs = {kX},
    .outputs = {kOut},
    .infer = infer_triangle,
    .grad = grad_op({"Out"}, {.lower = lower_grad}),
    .lower = lower_triangle,
});

}  // namespace
}  // namespace flotilla::ops
