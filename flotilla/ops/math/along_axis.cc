// flotilla/ops/math/along_axis.cc
//
// Operators that work slice by slice along an axis: cumsum, arg_max, arg_min, p_norm.

#include <algorithm>
#include <cmath>
#include <limits>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/grad_context.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/math/reduce_engine.h"
#include "flotilla/ops/math/scan.h"
#include "flotilla/ops/nn/slices.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {
namespace {

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

// ---- arg_max, arg_min ---------------------------------------------------------------------------

void infer_arg(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const int64_t code = c.attr<int64_t>("dtype");
  const DType dtype = code < 0 ? i64 : from_paddle(static_cast<int>(code));
  require(dtype == i64 || dtype == i32, "{} gives int64 or int32, but dtype names {}",
          c.op().type(), dtype);
  c.out("Out") = VarMeta::tensor(
      dtype,
      without_axis(x, c.attr<int64_t>("axis"), c.attr<bool>("flatten"), c.attr<bool>("keepdims")));
}

template <typename T, typename Place>
Step arg_as(PrepareContext& c) {
  const Slices s = slices(c.shape("X"), c.attr<int64_t>("axis"), c.attr<bool>("flatten"));
  require(s.n > 0, "{} of nothing: X has shape {}", c.op().type(), c.shape("X"));
  return [s, largest = c.op().type() == "arg_max", in = c.in<T>("X"), out = c.out<Place>("Out")] {
    const T* x = in.data();
    Place* to = out.data();
    parallel_for(s.count(), s.n, [=](int64_t slice) {
      // Of equal elements the first. NaN is passed over, as in Paddle.
      const T* from = x + s.begin(slice);
      T best = largest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
      int64_t found = 0;
      for (int64_t i = 0; i < s.n; ++i) {
        const T value = from[i * s.stride];
        if (!(largest ? value > best : value < best)) continue;
        best = value;
        found = i;
      }
      to[slice] = static_cast<Place>(found);
    });
  };
}

constexpr auto arg_forward = []<typename T>(PrepareContext& c) -> Step {
  return c.dtype("Out") == i32 ? arg_as<T, int32_t>(c) : arg_as<T, int64_t>(c);
};

void define_arg(const std::string& type, const std::string& what) {
  define_op({.type = type,
             .doc = "Where the " + what + " element of each slice stands.",
             .inputs = {{.name = "X", .doc = "tensor", .no_grad = true}},
             .outputs = {{.name = "Out", .doc = "X without the axis"}},
             .attrs = {{"axis", int64_t{0}, "direction of a slice"},
                       {"keepdims", false, "the axis stays, with extent 1"},
                       {"flatten", false, "X as one long row"},
                       {"dtype", int32_t{3}, "code of the dtype of Out; -1: int64"}},
             .infer = infer_arg,
             .kernels = kernels_for<float, double, int32_t, int64_t, uint8_t>(arg_forward)});
}

const bool kArgs = [] {
  define_arg("arg_max", "largest");
  define_arg("arg_min", "smallest");
  return true;
}();

// ---- p_norm -------------------------------------------------------------------------------------

void infer_norm(InferContext& c) {
  const VarMeta& x = c.in("X");
  c.out("Out") =
      VarMeta::tensor(x.dtype, without_axis(x.shape, c.attr<int64_t>("axis"),
                                            c.attr<bool>("asvector"), c.attr<bool>("keepdim")));
}

// (sum |x|^p)^(1/p); the number of elements that are not zero for p = 0, extremes for infinity.
// Added up as doubles: a long row has too many for floats.
template <typename T>
T norm_of(const T* x, int64_t n, int64_t stride, double p) {
  double total = std::isinf(p) && p < 0 ? -p : 0;
  for (int64_t i = 0; i < n; ++i) {
    const double size = std::abs(x[i * stride]);
    if (std::isinf(p)) {
      total = p > 0 ? MaxFold::fold(total, size) : MinFold::fold(total, size);
    } else if (p == 0) {
      total += size != 0;
    } else {
      total += p == 1 ? size : p == 2 ? size * size : std::pow(size, p);
    }
  }
  const bool is_root = !std::isinf(p) && p != 0 && p != 1;
  return static_cast<T>(!is_root ? total : p == 2 ? std::sqrt(total) : std::pow(total, 1 / p));
}

constexpr auto norm_forward = []<typename T>(PrepareContext& c) -> Step {
  const Slices s = slices(c.shape("X"), c.attr<int64_t>("axis"), c.attr<bool>("asvector"));
  return [s, p = c.attr<double>("porder"), in = c.in<T>("X"), out = c.out<T>("Out")] {
    const T* x = in.data();
    T* to = out.data();
    parallel_for(s.count(), s.n,
                 [=](int64_t slice) { to[slice] = norm_of(x + s.begin(slice), s.n, s.stride, p); });
  };
};

template <typename T>
T norm_slope(T x, T norm, T p, T epsilon) {
  const T size = std::abs(x), sign = static_cast<T>((x > 0) - (x < 0));
  if (p == 0) return T{0};
  if (std::isinf(p)) return size == norm ? sign : T{0};
  if (p == 1) return sign;
  if (p == 2) return x / (norm + epsilon);
  return size == 0 ? T{0} : sign * std::pow(size, p - T{1}) / (std::pow(norm, p - T{1}) + epsilon);
}

constexpr auto norm_backward = []<typename T>(PrepareContext& c) -> Step {
  const Slices s = slices(c.shape("X"), c.attr<int64_t>("axis"), c.attr<bool>("asvector"));
  return [s, p = static_cast<T>(c.attr<float>("porder")),
          epsilon = static_cast<T>(c.attr<float>("epsilon")), in = c.in<T>("X"),
          out = c.in<T>("Out"), dout = c.in<T>("Out@GRAD"), din = c.out<T>("X@GRAD")] {
    const T *x = in.data(), *norm = out.data(), *g = dout.data();
    T* dx = din.data();
    parallel_for(s.count(), s.n, [=](int64_t slice) {
      const int64_t begin = s.begin(slice);
      for (int64_t i = begin; i < begin + s.n * s.stride; i += s.stride) {
        dx[i] = g[slice] * norm_slope(x[i], norm[slice], p, epsilon);
      }
    });
  };
};

const OpDef& p_norm = define_op({
    .type = "p_norm",
    .doc = "The p-norm of each slice.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "X without the axis"}},
    .attrs = {{"porder", 2.0f,
               "p; 0 counts elements that are not zero, infinity takes the largest"},
              {"axis", int32_t{-1}, "direction of a slice"},
              {"epsilon", 1e-12f, "keeps the gradient finite at zero"},
              {"keepdim", false, "the axis stays, with extent 1"},
              {"asvector", false, "X as one long row"}},
    .infer = infer_norm,
    .grad = grad_op({"X", "Out"}, {.kernels = kernels_for<float, double>(norm_backward)}),
    .kernels = kernels_for<float, double>(norm_forward),
});

}  // namespace
}  // namespace flotilla::ops
