// bincount: how often each whole number from 0 on is there, or the sum of its weights.

#include <algorithm>

#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {
namespace {

// Weights of float32 are added up as such, others as float64.
void infer_bincount(InferContext& c) {
  const Shape& x = c.in("X").shape;
  require(x.rank() == 1, "bincount counts the elements of a vector, but X has shape {}", x);
  require(c.attr<int64_t>("minlength") >= 0, "minlength must not be negative, but is {}",
          c.attr<int64_t>("minlength"));
  DType dtype = i64;
  if (c.has_in("Weights")) {
    require(fits(c.in("Weights").shape, x), "Weights must have the shape {} of X, but has {}", x,
            c.in("Weights").shape);
    dtype = c.dtype("Weights") == f32 ? f32 : f64;
  }
  c.out("Out") = VarMeta::tensor(dtype, {-1});
}

template <typename T, typename W, typename Sum>
Step add_up(PrepareContext& c) {
  return [n = c.shape("X").numel(), least = c.attr<int64_t>("minlength"), in = c.in<T>("X"),
          weights = given<W>(c, "Weights"), out = c.dynamic_out<Sum>("Out")] {
    const T* x = in.data();
    int64_t length = n == 0 ? 0 : least;
    for (int64_t i = 0; i < n; ++i) {
      require(0 <= x[i] && x[i] < kMaxElements,
              "bincount counts numbers from 0 to 2^55, but the one at place {} is {}", i, x[i]);
      length = std::max(length, int64_t{x[i]} + 1);
    }
    Sum* sums = out.resize({length});
    std::fill_n(sums, length, Sum{0});
    for (int64_t i = 0; i < n; ++i) sums[x[i]] += weights ? static_cast<Sum>(weights.data()[i]) : 1;
  };
}

constexpr auto bincount_forward = []<typename T>(PrepareContext& c) -> Step {
  if (!c.has("Weights")) return add_up<T, int64_t, int64_t>(c);
  if (c.dtype("Weights") == f32) return add_up<T, float, float>(c);
  return visit_dtype(c.dtype("Weights"), [&](auto w) { return add_up<T, decltype(w), double>(c); });
};

const OpDef& bincount = define_op({
    .type = "bincount",
    .doc = "How often each whole number from 0 on is there.",
    .inputs = {{.name = "X", .doc = "a vector of whole numbers", .no_grad = true},
               {.name = "Weights", .doc = "what each counts", .optional = true, .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "a vector"}},
    .attrs = {{"minlength", 0, "elements that Out has at least"}},
    .infer = infer_bincount,
    .kernels = kernels_for<int32_t, int64_t>(bincount_forward),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops
