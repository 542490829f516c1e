// flotilla/ops/math/compare.cc
//
// Operators that answer with bools: comparisons of two tensors, logic, and which elements are
// finite. Whatever is not zero is true. Beside them those that work bit by bit.

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/compare_formulas.h"
#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/math/elementwise.h"

namespace flotilla::ops {
namespace {

// Whole numbers and bools; these ops answer in their own dtype.
template <typename F>
std::vector<Kernel> bits_kernels(F f) {
  return kernels_for<bool, uint8_t, int8_t, int16_t, int32_t, int64_t>(f);
}

void infer_bits(InferContext& c) {
  check_one_dtype(c, "X", "Y");
  const Shape &x = c.in("X").shape, &y = c.in("Y").shape;
  c.out("Out") = like(c.in("X"), broadcast(x, y, c.op().attr_or<int64_t>("axis", -1)));
}

void infer_binary(InferContext& c) {
  infer_bits(c);
  c.out("Out").dtype = boolean;
}

void infer_same(InferContext& c) { c.out("Out") = like(c.in("X")); }

void infer_unary(InferContext& c) {
  infer_same(c);
  c.out("Out").dtype = boolean;
}

void infer_one(InferContext& c) { c.out("Out") = VarMeta::tensor(boolean, {1}); }

template <typename F, typename T, typename R = bool>
Step each(PrepareContext& c) {
  return [n = c.shape("X").numel(), in = c.in<T>("X"), out = c.out<R>("Out")] {
    map(n, kGrainOperations, F{}, out.data(), in.data());
  };
}

// Out = X sign Y
template <typename F>
void define_binary(std::vector<AttrSpec> attrs, void (*infer)(InferContext&),
                   std::vector<Kernel> kernels) {
  define_op({.type = F::kInfo.type,
             .doc = fmt::format("Out = X {} Y, element by element.", F::kInfo.sign),
             .inputs = {{.name = "X", .doc = "tensor", .no_grad = true},
                        {.name = "Y", .doc = "tensor of the same dtype", .no_grad = true}},
             .outputs = {{.name = "Out", .doc = "of the common shape"}},
             .attrs = std::move(attrs),
             .infer = infer,
             .kernels = std::move(kernels)});
}

template <typename F>
void define_answer(std::vector<AttrSpec> attrs) {
  define_binary<F>(std::move(attrs), infer_binary,
                   kernels_for<float, double, Half, BFloat16, int32_t, int64_t, bool>(
                       []<typename T>(PrepareContext& c) { return binary_step<F, T, bool>(c); }));
}

OpDef question(std::string type, std::string doc, void (*infer)(InferContext&),
               std::vector<Kernel> kernels) {
  return {.type = std::move(type),
          .doc = std::move(doc),
          .inputs = {{.name = "X", .doc = "tensor", .no_grad = true}},
          .outputs = {{.name = "Out", .doc = "an answer"}},
          .infer = infer,
          .kernels = std::move(kernels)};
}

// <type>_v2 answers for each element, <type> for all of them together.
template <typename F, bool kAll>
void define_question(const std::string& what) {
  const std::string type = F::kType;
  define_op(question(type + "_v2", "Whether each element of X is " + what + ".", infer_unary,
                     kernels_for<float, double, Half, BFloat16>(
                         []<typename T>(PrepareContext& c) { return each<F, T>(c); })));
  OpDef together = question(
      type, "Whether " + std::string(kAll ? "every" : "some") + " element of X is " + what + ".",
      infer_one, {});
  together.lower = [](LowerContext& c) {
    const std::string each = c.apply(std::string(F::kType) + "_v2", c.in("X"));
    c.result("Out", c.apply(kAll ? "reduce_all" : "reduce_any", each, {{"reduce_all", true}}));
  };
  define_op(std::move(together));
}

const bool kDefined = [] {
  for_each(compare::Comparisons{}, []<typename F>() {
    define_answer<F>({{"axis", int32_t{-1}, "the axis of X with which Y's first axis aligns"},
                      {"force_cpu", false, "whether Out lies in the host's memory"}});
  });
  for_each(compare::Logic{}, []<typename F>() { define_answer<F>({}); });
  for_each(compare::Bits{}, []<typename F>() {
    define_binary<F>({}, infer_bits, bits_kernels([]<typename T>(PrepareContext& c) {
                       return binary_step<F, T, T>(c);
                     }));
  });
  define_op(question(
      compare::BitNot::kType, "The bits of X, each turned over.", infer_same,
      bits_kernels([]<typename T>(PrepareContext& c) { return each<compare::BitNot, T, T>(c); })));
  define_op(question(compare::Not::kType, "Whether each element of X is zero.", infer_unary,
                     kernels_for<bool, float, double, Half, BFloat16, int32_t, int64_t>(
                         []<typename T>(PrepareContext& c) { return each<compare::Not, T>(c); })));
  define_question<compare::IsFinite, true>("finite");
  define_question<compare::IsInf, false>("infinite");
  define_question<compare::IsNan, false>("not a number");
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
