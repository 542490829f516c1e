// cumsum: each element plus all that come before it along an axis, or behind it.

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/op/grad_context.h"
#include "flotilla/ops/math/scan.h"

namespace flotilla::ops {
namespace {

template <typename T>
Step running_sum(PrepareContext& c, std::string_view in, std::string_view out, const Shape& shape,
                 bool reverse) {
  return [scan = Scan(c, shape, reverse), from = c.in<T>(in), to = c.out<T>(out)] {
    const T* x = from.data();
    T* y = to.data();
    parallel_for(scan.count(), scan.length(), [=](int64_t slice) {
      int64_t at = scan.first(slice);
      T sum = 0;
      for (int64_t i = 0; i < scan.length(); ++i, at += scan.step()) {
        const T value = x[at];
        y[at] = scan.exclusive() ? sum : static_cast<T>(sum + value);
        sum = static_cast<T>(sum + value);
      }
    });
  };
}

constexpr auto cumsum_forward = []<typename T>(PrepareContext& c) -> Step {
  return running_sum<T>(c, "X", "Out", c.shape("X"), c.attr<bool>("reverse"));
};

// Every element is in the sums after it, so the gradient sums from the other end.
constexpr auto cumsum_backward = []<typename T>(PrepareContext& c) -> Step {
  return running_sum<T>(c, "Out@GRAD", "X@GRAD", c.shape("X@GRAD"), !c.attr<bool>("reverse"));
};

// 1.8 has no cumsum_grad; it and later releases understand sums from the other end.
void emit_cumsum_grad(GradContext& c) {
  const std::string dout = c.output_grad("Out"), dx = c.input_grad("X");
  if (dout.empty() || dx.empty()) return;
  Attrs attrs = {{"axis", c.op().attr_or<int32_t>("axis", -1)},
                 {"flatten", c.op().attr_or<bool>("flatten", false)},
                 {"exclusive", c.op().attr_or<bool>("exclusive", false)},
                 {"reverse", c.op().attr_or<bool>("reverse", false)}};
  if (c.op().attr_or<bool>("flatten", false)) {
    c.emit("cumsum_grad", {{"X", {c.op().input("X")}}, {"Out@GRAD", {dout}}}, {{"X@GRAD", {dx}}},
           std::move(attrs));
    return;
  }
  attrs["reverse"] = !c.op().attr_or<bool>("reverse", false);
  c.emit("cumsum", {{"X", {dout}}}, {{"Out", {dx}}}, std::move(attrs));
}

void infer_like_x(InferContext& c) { c.out("X@GRAD") = like(c.in("X")); }

const OpDef& cumsum = define_op({
    .type = "cumsum",
    .doc = "Each element plus all that come before it along the axis.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .attrs = scan_attrs(),
    .infer = infer_scan,
    .grad = custom_grad(emit_cumsum_grad),
    .kernels = kernels_for<float, double, int32_t, int64_t>(cumsum_forward),
});

const OpDef& cumsum_grad = define_op({
    .type = "cumsum_grad",
    .doc = "Gradient of cumsum.",
    .inputs = {{.name = "X", .doc = "input of the op", .shape_only = true},
               {.name = "Out@GRAD", .doc = "gradient of the result"}},
    .outputs = {{.name = "X@GRAD", .doc = "gradient of X"}},
    .attrs = scan_attrs(),
    .infer = infer_like_x,
    .kernels = kernels_for<float, double>(cumsum_backward),
    .dtype_slot = "Out@GRAD",
});

}  // namespace
}  // namespace flotilla::ops
