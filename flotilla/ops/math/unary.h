// flotilla/ops/math/unary.h
//
// Operators of one tensor, element by element. Such an operator is a type:
//
//   struct LeakyRelu {
//     static constexpr int kReads = kReadsX;      // what the derivative needs besides g
//     static constexpr Names kNames = {"alpha"};  // attributes, in the order of Params
//     template <typename T> static T f(T x, const Params<T>& p);            // the result
//     template <typename T> static T df(T x, T o, T g, const Params<T>& p); // dX; o is the result
//   };

#pragma once

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/device/cpu/fast_math.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/device/cpu/simd.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {

enum UnaryReads { kReadsNothing = 0, kReadsX = 1, kReadsOut = 2 };

template <typename T>
struct Params {
  T a = 0, b = 0, c = 0;
};
using Names = std::array<std::string_view, 3>;

// Functions of <cmath> that become vector code for floats.
inline float exp_of(float x) { return fast_exp(x); }
inline double exp_of(double x) { return std::exp(x); }
inline float log_of(float x) { return fast_log(x); }
inline double log_of(double x) { return std::log(x); }
inline float tanh_of(float x) { return fast_tanh(x); }
inline double tanh_of(double x) { return std::tanh(x); }
inline float sigmoid_of(float x) { return fast_sigmoid(x); }
inline double sigmoid_of(double x) {
  const double e = std::exp(-std::abs(x));
  return (x > 0 ? 1 : e) / (1 + e);
}

// The parameters of an operator: attributes, or tensors of one element that stand in for them
// (F::kTensors, in the order of F::kNames).
template <typename F, typename T>
class ParamSource {
 public:
  explicit ParamSource(PrepareContext& c) {
    if constexpr (requires { F::kNames; }) {
      T* const places[] = {&params_.a, &params_.b, &params_.c};
      for (size_t i = 0; i < F::kNames.size(); ++i) {
        if (!F::kNames[i].empty()) *places[i] = static_cast<T>(c.attr<double>(F::kNames[i]));
      }
    }
    if constexpr (requires { F::kTensors; }) {
      for (size_t i = 0; i < F::kTensors.size(); ++i) {
        if (!F::kTensors[i].empty() && c.has(F::kTensors[i])) tensors_[i] = c.in<T>(F::kTensors[i]);
      }
    }
  }
  ParamSource(PrepareContext&, const Params<T>& params) : params_(params) {}

  bool fixed() const { return !tensors_[0] && !tensors_[1] && !tensors_[2]; }
  Params<T> get() const {
    Params<T> found = params_;
    if (tensors_[0]) found.a = *tensors_[0].data();
    if (tensors_[1]) found.b = *tensors_[1].data();
    if (tensors_[2]) found.c = *tensors_[2].data();
    return found;
  }

 private:
  Params<T> params_ = {};
  std::array<In<T>, 3> tensors_ = {};
};

// x, but at least a and at most b: clip and brelu, which differ in words only.
struct Between {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>& p) {
    const T above = x < p.a ? p.a : x;
    return above > p.b ? p.b : above;
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>& p) {
    return x > p.a && x < p.b ? g : T{0};
  }
};

// `layout` where f leaves padding zero, else plain.
inline Layout layout_for(const Layout& layout, const Shape& shape, bool keeps_zero) {
  const bool padded = layout.physical_numel(shape) != shape.numel();
  return padded && !keeps_zero ? Layout() : layout;
}

template <typename F, typename T>
Step unary_forward(PrepareContext& c) {
  if constexpr (requires { F::template sparse_forward<T>(c); }) {
    if (c.is_sparse("X")) return F::template sparse_forward<T>(c);
  }
  const ParamSource<F, T> params(c);
  const bool keeps_zero = params.fixed() && F::f(T{0}, params.get()) == T{0};
  const Layout layout = layout_for(c.layout("X"), c.shape("X"), keeps_zero);
  c.in_place("X", "Out");
  return [n = layout.physical_numel(c.shape("X")), params, in = c.in<T>("X", 0, layout),
          out = c.out<T>("Out", 0, layout)] {
    const Params<T> p = params.get();
    const T* x = in.data();
    T* y = out.data();
    parallel_ranges(n, kGrainOperations, [=](int64_t begin, int64_t end) {
      simd([=] {
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) y[i] = F::f(x[i], p);
      });
    });
  };
}

template <typename F, typename T>
Step unary_backward(PrepareContext& c) {
  const ParamSource<F, T> params(c);
  const Shape& shape = c.shape("Out@GRAD");
  const auto of_zero = [&](const Params<T>& p) { return F::df(T{0}, F::f(T{0}, p), T{0}, p); };
  const bool keeps_zero = params.fixed() && of_zero(params.get()) == T{0};
  Layout layout = c.layout("Out@GRAD");
  // Programs of 1.8 give Out instead of X where the sign is all that counts.
  const bool has_x = F::kReads & kReadsX && c.has("X");
  const bool has_out = F::kReads & kReadsOut || (F::kReads & kReadsX && !has_x);
  if (layout.plain() && has_x && c.shape("X") == shape) layout = c.layout("X");
  if (layout.plain() && has_out && c.shape("Out") == shape) layout = c.layout("Out");
  layout = layout_for(layout, shape, keeps_zero);
  c.in_place("Out@GRAD", "X@GRAD");
  return [n = layout.physical_numel(shape), params, has_x, has_out,
          in = has_x ? c.in<T>("X", 0, layout) : In<T>(),
          out = has_out ? c.in<T>("Out", 0, layout) : In<T>(),
          dout = c.in<T>("Out@GRAD", 0, layout), din = c.out<T>("X@GRAD", 0, layout)] {
    const Params<T> p = params.get();
    const T* g = dout.data();
    const T* o = has_out ? out.data() : g;
    const T* x = has_x ? in.data() : o;
    T* dx = din.data();
    parallel_ranges(n, kGrainOperations, [=](int64_t begin, int64_t end) {
      simd([=] {
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) dx[i] = F::df(x[i], o[i], g[i], p);
      });
    });
  };
}

inline void infer_unary(InferContext& c) { c.out("Out") = like(c.in("X")); }
inline void infer_unary_grad(InferContext& c) { c.out("X@GRAD") = like(c.in("Out@GRAD")); }

// What the gradient op is given; the slots of Paddle's 2.6 where they are more than it needs.
template <typename F>
constexpr int emits() {
  if constexpr (requires { F::kEmits; }) {
    return F::kEmits;
  } else {
    return F::kReads;
  }
}

struct UnaryRow {
  std::string type;
  std::string formula;
  std::vector<AttrSpec> attrs = {};
  std::vector<Slot> more_inputs = {};
  void (*spell_out_grad)(Block& block, size_t position) = nullptr;  // GradOp::spell_out
};

// Defines <type>, with forward kernels for the dtypes T and gradients for floats.
template <typename F, typename... T>
void define_unary(UnaryRow row) {
  std::vector<Use> uses;
  if (emits<F>() & kReadsX) uses.push_back("X");
  if (emits<F>() & kReadsOut) uses.push_back("Out");
  std::vector<Slot> inputs = {{.name = "X", .doc = "tensor"}};
  for (Slot& slot : row.more_inputs) {
    uses.push_back(slot.name);
    inputs.push_back(std::move(slot));
  }
  define_op(
      {.type = std::move(row.type),
       .doc = "Out = " + row.formula + ", element by element.",
       .inputs = std::move(inputs),
       .outputs = {{.name = "Out", .doc = "same shape and dtype as X"}},
       .attrs = std::move(row.attrs),
       .infer = infer_unary,
       .grad = grad_op(std::move(uses),
                       {.kernels = kernels_for<float, double>(
                            []<typename U>(PrepareContext& c) { return unary_backward<F, U>(c); }),
                        .infer = infer_unary_grad,
                        // Releases differ in which of both they write.
                        .inputs = {{.name = "X",
                                    .doc = "input of the op",
                                    .optional = true,
                                    .shape_only = !(F::kReads & kReadsX)},
                                   {.name = "Out",
                                    .doc = "result of the op",
                                    .optional = true,
                                    .shape_only = F::kReads == kReadsNothing}},
                        .spell_out = row.spell_out_grad}),
       .kernels = kernels_for<float, double, T...>(
           []<typename U>(PrepareContext& c) { return unary_forward<F, U>(c); }),
       .dtype_slot = "X"});
}

}  // namespace flotilla::ops
