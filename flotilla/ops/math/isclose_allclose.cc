// flotilla/ops/math/isclose_allclose.cc
//
// isclose: |Input - Other| <= atol + rtol |Other|, element by element; allclose: whether all are.

#include <cmath>
#include <cstdlib>

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_one_shape(c, "Input", "Other");
  const bool each = c.def().type == "isclose";
  c.out("Out") = each ? like(c.in("Input")) : VarMeta::tensor(boolean, {1});
  c.out("Out").dtype = boolean;
}

// A tolerance is text in 2.x, so that it is exact, and a number in 1.8; a tensor stands before it.
class Tolerance {
 public:
  Tolerance(PrepareContext& c, std::string_view slot, std::string_view attr, double otherwise)
      : given_(given<double>(c, slot)), number_(otherwise) {
    const Attr* found = c.op().find_attr(attr);
    if (found == nullptr) return;
    const std::string* text = std::get_if<std::string>(found);
    if (text == nullptr) {
      number_ = attr_as<double>(*found, attr);
      return;
    }
    char* end = nullptr;
    number_ = std::strtod(text->c_str(), &end);
    require(!text->empty() && *end == 0, "{} must be a number, but is \"{}\"", attr, *text);
  }
  double get() const { return given_ ? *given_.data() : number_; }

 private:
  In<double> given_;
  double number_ = 0;
};

constexpr auto isclose = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("Input").numel(), rtol = Tolerance(c, "Rtol", "rtol", 1e-5),
          atol = Tolerance(c, "Atol", "atol", 1e-8), equal_nan = c.attr<bool>("equal_nan"),
          x = c.in<T>("Input"), y = c.in<T>("Other"), out = c.out<bool>("Out")] {
    const double relative = rtol.get(), absolute = atol.get();
    for (int64_t i = 0; i < n; ++i) {
      const double a = static_cast<double>(x.data()[i]), b = static_cast<double>(y.data()[i]);
      const bool both_nan = std::isnan(a) && std::isnan(b);
      out.data()[i] =
          a == b || std::abs(a - b) <= absolute + relative * std::abs(b) || (equal_nan && both_nan);
    }
  };
};

void lower_allclose(LowerContext& c) {
  Slots inputs;
  for (const char* slot : {"Input", "Other", "Rtol", "Atol"}) {
    if (c.has(slot)) inputs[slot] = {c.in(slot)};
  }
  c.result("Out", c.apply("reduce_all", c.append("isclose", std::move(inputs), c.given_attrs()),
                          {{"reduce_all", true}}));
}

const OpDef& define(std::string type, std::string doc, std::vector<Kernel> kernels,
                    void (*lower)(LowerContext&) = nullptr) {
  return define_op(
      {.type = std::move(type),
       .doc = std::move(doc),
       .inputs = {constant("Input", "tensor"), constant("Other", "same shape as Input"),
                  single(optional_constant("Rtol", "one f64")),
                  single(optional_constant("Atol", "one f64"))},
       .outputs = {constant("Out", "bool")},
       .attrs = {{"rtol", {}, "what may differ for each 1 of Other; 1e-5"},
                 {"atol", {}, "what may differ anyway; 1e-8"},
                 {"equal_nan", false, "two that are no numbers are close"}},
       .infer = infer,
       .kernels = std::move(kernels),
       .lower = lower,
       .dtype_slot = "Input"});
}

const OpDef& isclose_op = define("isclose", "Whether elements are close.",
                                 kernels_for<float, double, int32_t, int64_t>(isclose));
const OpDef& allclose_op =
    define("allclose", "Whether all elements are close.", {}, lower_allclose);

}  // namespace
}  // namespace flotilla::ops
