// flotilla/ops/math/cumsum_logcumsumexp.cc
//
// They walk along an axis, from either end, and leave at each element what they have gathered so
// far: cumsum each element plus all that come before it, logcumsumexp log(sum(exp(X))) of them.
//
// Nothing of the latter overflows, because no exponent is above zero: sums are kept relative to the
// largest element so far, and gradients relative to Out, which never falls.
//
//   G[i]  = dOut[i] + exp(Out[i] - Out[i + 1]) G[i + 1]
//   dX[i] = exp(X[i] - Out[i]) G[i]
//
// The sum of nothing, and of -inf alone, is the lowest number, as in Paddle.

#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/grad_context.h"
#include "flotilla/ops/common/scan_formulas.h"
#include "flotilla/ops/common/slices.h"

namespace flotilla::ops {
namespace {

std::vector<AttrSpec> scan_attrs() {
  return {{"axis", int32_t{-1}, "direction of the walk"},
          {"flatten", false, "walks over X as one long row"},
          {"exclusive", false, "an element counts for those after it only"},
          {"reverse", false, "walks from the end"}};
}

// Out has the shape of X, or is one long row. Refuses an axis that X does not have.
void infer_scan(InferContext& c) {
  const VarMeta& x = c.in("X");
  VarMeta out = like(x);
  if (c.attr<bool>("flatten")) {
    out = VarMeta::tensor(x.dtype, {x.shape.numel()});
  } else if (x.shape.rank() > 0) {
    x.shape.axis(c.attr<int64_t>("axis"));
  }
  c.out("Out") = std::move(out);
}

// The slices of a tensor, each in the order of the walk.
class Scan {
 public:
  // `shape` is that of X. A gradient walks back: `reverse` need not be the attribute.
  Scan(const PrepareContext& c, const Shape& shape, bool reverse)
      : slices_(slices(shape, c.attr<int64_t>("axis"), c.attr<bool>("flatten"))),
        reverse_(reverse),
        exclusive_(c.attr<bool>("exclusive")) {}

  int64_t count() const { return slices_.count(); }
  int64_t length() const { return slices_.n; }
  bool exclusive() const { return exclusive_; }
  // Where a slice begins, and how far the next element is.
  int64_t first(int64_t slice) const {
    return slices_.begin(slice) + (reverse_ ? (slices_.n - 1) * slices_.stride : 0);
  }
  int64_t step() const { return reverse_ ? -slices_.stride : slices_.stride; }

 private:
  Slices slices_;
  bool reverse_ = false;
  bool exclusive_ = false;
};

// ---- cumsum -------------------------------------------------------------------------------------

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

// ---- logcumsumexp -------------------------------------------------------------------------------

constexpr int64_t kCost = 32;  // simple operations for an element, roughly

constexpr auto log_forward = []<typename T>(PrepareContext& c) -> Step {
  return [scan = Scan(c, c.shape("X"), c.attr<bool>("reverse")), in = c.in<T>("X"),
          out = c.out<T>("Out")] {
    const T* x = in.data();
    T* y = out.data();
    parallel_for(scan.count(), scan.length() * kCost, [=](int64_t slice) {
      int64_t at = scan.first(slice);
      LogSum<T> sum = LogSum<T>::start();
      for (int64_t i = 0; i < scan.length(); ++i, at += scan.step()) {
        const T value = x[at];
        if (scan.exclusive()) y[at] = sum.get();
        sum = LogSum<T>::join(sum, {value, T{1}});
        if (!scan.exclusive()) y[at] = sum.get();
      }
    });
  };
};

// Walks back. An exclusive element counts from Out of the next one on.
constexpr auto log_backward = []<typename T>(PrepareContext& c) -> Step {
  return [scan = Scan(c, c.shape("X"), !c.attr<bool>("reverse")), in = c.in<T>("X"),
          out = c.in<T>("Out"), dout = c.in<T>("Out@GRAD"), din = c.out<T>("X@GRAD")] {
    const T *x = in.data(), *y = out.data(), *dy = dout.data();
    T* dx = din.data();
    parallel_for(scan.count(), scan.length() * kCost, [=](int64_t slice) {
      int64_t at = scan.first(slice);
      T next = 0, sum = 0;  // Out[i + 1], G[i + 1]
      for (int64_t i = 0; i < scan.length(); ++i, at += scan.step()) {
        if (scan.exclusive()) dx[at] = i == 0 ? T{0} : std::exp(x[at] - next) * sum;
        sum = i == 0 ? dy[at] : dy[at] + ratio(y[at], next) * sum;
        next = y[at];
        if (!scan.exclusive()) dx[at] = std::exp(x[at] - next) * sum;
      }
    });
  };
};

const OpDef& logcumsumexp = define_op({
    .type = "logcumsumexp",
    .doc = "log(sum(exp(X))) of each element and all that come before it along the axis.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .attrs = scan_attrs(),
    .infer = infer_scan,
    .grad = grad_op({"X", "Out"}, {.kernels = kernels_for<float, double>(log_backward)}),
    .kernels = kernels_for<float, double>(log_forward),
});

}  // namespace
}  // namespace flotilla::ops
