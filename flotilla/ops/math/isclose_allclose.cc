// flotilla/ops/math/isclose_allclose.cc
//
// isclose: |Input - Other| <= atol + rtol |Other|, element by element; allclose: whether all are.

#include <cmath>
#include <cstdlib>

#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {
namespace {

void infer_isclose(InferContext& c) {
  check_one_shape(c, "Input", "Other");
  c.out("Out") = like(c.in("Input"));
  c.out("Out").dtype = boolean;
}

void infer_allclose(InferContext& c) {
  check_one_shape(c, "Input", "Other");
  c.out("Out") = VarMeta::tensor(boolean, {1});
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

template <typename T>
class Closeness {
 public:
  explicit Closeness(PrepareContext& c)
      : n_(c.shape("Input").numel()),
        relative_(c, "Rtol", "rtol", 1e-5),
        absolute_(c, "Atol", "atol", 1e-8),
        equal_nan_(c.attr<bool>("equal_nan")),
        input_(c.in<T>("Input")),
        other_(c.in<T>("Other")) {}

  // Calls f(place, whether the elements there are close).
  template <typename F>
  void for_each(F f) const {
    const double relative = relative_.get(), absolute = absolute_.get();
    for (int64_t i = 0; i < n_; ++i) {
      const double a = static_cast<double>(input_.data()[i]);
      const double b = static_cast<double>(other_.data()[i]);
      const bool both_nan = std::isnan(a) && std::isnan(b);
      f(i,
        a == b || std::abs(a - b) <= absolute + relative * std::abs(b) || (equal_nan_ && both_nan));
    }
  }

 private:
  int64_t n_ = 0;
  Tolerance relative_, absolute_;
  bool equal_nan_ = false;
  In<T> input_, other_;
};

constexpr auto isclose = []<typename T>(PrepareContext& c) -> Step {
  return [closeness = Closeness<T>(c), out = c.out<bool>("Out")] {
    closeness.for_each([&](int64_t i, bool close) { out.data()[i] = close; });
  };
};

constexpr auto allclose = []<typename T>(PrepareContext& c) -> Step {
  return [closeness = Closeness<T>(c), out = c.out<bool>("Out")] {
    bool all = true;
    closeness.for_each([&](int64_t, bool close) { all = all && close; });
    *out.data() = all;
  };
};

OpDef definition(std::string type, std::string doc, void (*infer)(InferContext&),
                 std::vector<Kernel> kernels) {
  const auto tolerance = [](std::string name) {
    return Slot{
        .name = std::move(name), .doc = "one f64", .optional = true, .no_grad = true, .one = true};
  };
  return {.type = std::move(type),
          .doc = std::move(doc),
          .inputs = {{.name = "Input", .doc = "tensor", .no_grad = true},
                     {.name = "Other", .doc = "same shape as Input", .no_grad = true},
                     tolerance("Rtol"),
                     tolerance("Atol")},
          .outputs = {{.name = "Out", .doc = "bool", .no_grad = true}},
          .attrs = {{"rtol", {}, "what may differ for each 1 of Other; 1e-5"},
                    {"atol", {}, "what may differ anyway; 1e-8"},
                    {"equal_nan", false, "two that are no numbers are close"}},
          .infer = infer,
          .kernels = std::move(kernels),
          .dtype_slot = "Input"};
}

const OpDef& isclose_op =
    define_op(definition("isclose", "Whether elements are close.", infer_isclose,
                         kernels_for<float, double, int32_t, int64_t>(isclose)));
const OpDef& allclose_op =
    define_op(definition("allclose", "Whether all elements are close.", infer_allclose,
                         kernels_for<float, double, int32_t, int64_t>(allclose)));

}  // namespace
}  // namespace flotilla::ops
