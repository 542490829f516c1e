// flotilla/ops/math/compare.cc
//
// Operators that answer with bools: comparisons of two tensors, logic, and which elements are
// finite. Whatever is not zero is true.

#include <algorithm>
#include <cmath>

#include "flotilla/ops/math/elementwise.h"
#include "flotilla/ops/math/reduce_engine.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {
namespace {

struct Equal {
  static constexpr bool kKeepsZero = false;
  template <typename T>
  static bool f(T x, T y) {
    return x == y;
  }
};
struct NotEqual {
  static constexpr bool kKeepsZero = false;
  template <typename T>
  static bool f(T x, T y) {
    return x != y;
  }
};
struct Less {
  static constexpr bool kKeepsZero = false;
  template <typename T>
  static bool f(T x, T y) {
    return x < y;
  }
};
struct LessEqual {
  static constexpr bool kKeepsZero = false;
  template <typename T>
  static bool f(T x, T y) {
    return x <= y;
  }
};
struct Greater {
  static constexpr bool kKeepsZero = false;
  template <typename T>
  static bool f(T x, T y) {
    return x > y;
  }
};
struct GreaterEqual {
  static constexpr bool kKeepsZero = false;
  template <typename T>
  static bool f(T x, T y) {
    return x >= y;
  }
};
struct And {
  static constexpr bool kKeepsZero = false;
  template <typename T>
  static bool f(T x, T y) {
    return (x != T{0}) & (y != T{0});
  }
};
struct Or {
  static constexpr bool kKeepsZero = false;
  template <typename T>
  static bool f(T x, T y) {
    return (x != T{0}) | (y != T{0});
  }
};
struct Xor {
  static constexpr bool kKeepsZero = false;
  template <typename T>
  static bool f(T x, T y) {
    return (x != T{0}) != (y != T{0});
  }
};

struct Not {
  template <typename T>
  static bool f(T x) {
    return x == T{0};
  }
};
struct IsFinite {
  template <typename T>
  static bool f(T x) {
    return std::isfinite(x);
  }
};
struct IsInf {
  template <typename T>
  static bool f(T x) {
    return std::isinf(x);
  }
};
struct IsNan {
  template <typename T>
  static bool f(T x) {
    return std::isnan(x);
  }
};

void infer_binary(InferContext& c) {
  const VarMeta &x = c.in("X"), &y = c.in("Y");
  require(x.dtype == y.dtype, "X and Y must have one dtype, but X holds {} and Y holds {}", x.dtype,
          y.dtype);
  const int64_t axis = c.op().attr_or<int64_t>("axis", -1);
  VarMeta out = like(x, broadcast(x.shape, y.shape, axis));
  out.dtype = boolean;
  c.out("Out") = std::move(out);
}

void infer_unary(InferContext& c) {
  c.out("Out") = like(c.in("X"));
  c.out("Out").dtype = boolean;
}

void infer_one(InferContext& c) { c.out("Out") = VarMeta::tensor(boolean, {1}); }

template <typename F, typename T>
Step each(PrepareContext& c) {
  return [n = c.shape("X").numel(), in = c.in<T>("X"), out = c.out<bool>("Out")] {
    const T* x = in.data();
    bool* y = out.data();
    parallel_ranges(n, kGrainOperations, [=](int64_t begin, int64_t end) {
      simd([=] {
        for (int64_t i = begin; i < end; ++i) y[i] = F::f(x[i]);
      });
    });
  };
}

// Whether F holds for some element, or for all.
template <typename F, bool kAll, typename T>
Step once(PrepareContext& c) {
  return [n = c.shape("X").numel(), in = c.in<T>("X"), out = c.out<bool>("Out")] {
    const T *begin = in.data(), *end = begin + n;
    *out.data() = kAll ? std::all_of(begin, end, F::template f<T>)
                       : std::any_of(begin, end, F::template f<T>);
  };
}

const std::vector<Slot> kOut = {{.name = "Out", .doc = "bool, of the common shape"}};

template <typename F>
void define_comparison(std::string type, std::string sign) {
  define_op({.type = std::move(type),
             .doc = "Out = X " + std::move(sign) + " Y, element by element.",
             .inputs = {{.name = "X", .doc = "tensor", .no_grad = true},
                        {.name = "Y", .doc = "tensor of the same dtype", .no_grad = true}},
             .outputs = kOut,
             .attrs = {{"axis", int32_t{-1}, "where Y's first axis stands among those of X"},
                       {"force_cpu", false, "whether Out lies in the host's memory"}},
             .infer = infer_binary,
             .kernels = kernels_for<float, double, int32_t, int64_t, bool>(
                 []<typename T>(PrepareContext& c) { return binary_step<F, T, bool>(c); })});
}

template <typename F>
void define_logic(std::string type, std::string word) {
  define_op({.type = std::move(type),
             .doc = "Out = X " + std::move(word) + " Y, element by element.",
             .inputs = {{.name = "X", .doc = "tensor", .no_grad = true},
                        {.name = "Y", .doc = "tensor of the same dtype", .no_grad = true}},
             .outputs = kOut,
             .infer = infer_binary,
             .kernels = kernels_for<bool, float, double, int32_t, int64_t>(
                 []<typename T>(PrepareContext& c) { return binary_step<F, T, bool>(c); })});
}

OpDef question(std::string type, std::string doc, void (*infer)(InferContext&),
               std::vector<Kernel> kernels) {
  return {.type = std::move(type),
          .doc = std::move(doc),
          .inputs = {{.name = "X", .doc = "tensor", .no_grad = true}},
          .outputs = {{.name = "Out", .doc = "bool"}},
          .infer = infer,
          .kernels = std::move(kernels)};
}

// <type>_v2 answers for each element, <type> for all of them together.
template <typename F, bool kAll>
void define_question(const std::string& type, const std::string& what) {
  define_op(question(
      type + "_v2", "Whether each element of X is " + what + ".", infer_unary,
      kernels_for<float, double>([]<typename T>(PrepareContext& c) { return each<F, T>(c); })));
  define_op(question(
      type, fmt::format("Whether {} of X is {}.", kAll ? "every element" : "some element", what),
      infer_one, kernels_for<float, double>([]<typename T>(PrepareContext& c) {
        return once<F, kAll, T>(c);
      })));
}

const bool kDefined = [] {
  define_comparison<Equal>("equal", "==");
  define_comparison<NotEqual>("not_equal", "!=");
  define_comparison<Less>("less_than", "<");
  define_comparison<LessEqual>("less_equal", "<=");
  define_comparison<Greater>("greater_than", ">");
  define_comparison<GreaterEqual>("greater_equal", ">=");
  define_logic<And>("logical_and", "and");
  define_logic<Or>("logical_or", "or");
  define_logic<Xor>("logical_xor", "xor");
  define_op(question("logical_not", "Whether each element of X is zero.", infer_unary,
                     kernels_for<bool, float, double, int32_t, int64_t>(
                         []<typename T>(PrepareContext& c) { return each<Not, T>(c); })));
  define_question<IsFinite, true>("isfinite", "finite");
  define_question<IsInf, false>("isinf", "infinite");
  define_question<IsNan, false>("isnan", "not a number");
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
