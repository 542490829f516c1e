// linspace: numbers between two ends, evenly spaced; logspace: powers whose exponents are.

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/dtype_attr.h"
#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer_linspace(InferContext& c) {
  const std::optional<Ints> count = known_ints(c, {"Num"});
  require(!count || count->at(0) > 0, "Num of linspace must be positive, but is {}",
          count ? count->at(0) : 0);
  c.out("Out") = VarMeta::tensor(dtype_attr_or(c, c.dtype("Start")), {count ? count->at(0) : -1});
}

// From both ends towards the middle, so that the last number is Stop to the bit.
constexpr auto linspace = []<typename From>(PrepareContext& c) -> Step {
  return visit_dtype(c.dtype("Out"), [&](auto type) -> Step {
    using To = decltype(type);
    return [n = c.shape("Out").numel(), start = c.in<From>("Start"), stop = c.in<From>("Stop"),
            out = c.out<To>("Out")] {
      const double first = static_cast<double>(*start.data());
      const double last = static_cast<double>(*stop.data());
      const double step = n > 1 ? (last - first) / static_cast<double>(n - 1) : 0;
      for (int64_t i = 0; i < n; ++i) {
        const bool front = n == 1 || i < n / 2;
        const double value = front ? first + step * static_cast<double>(i)
                                   : last - step * static_cast<double>(n - 1 - i);
        out.data()[i] = static_cast<To>(value);
      }
    };
  });
};

const OpDef& linspace_op = define_op({
    .type = "linspace",
    .doc = "Num numbers from Start to Stop, evenly spaced.",
    .inputs = {constant_number("Start", "first number"), constant_number("Stop", "last number"),
               constant_number("Num", "how many")},
    .outputs = {{.name = "Out", .doc = "a vector"}},
    .attrs = {{"dtype", int32_t{-1}, "code of the dtype of Out; -1: that of Start"}},
    .infer = infer_linspace,
    .kernels = kernels_for<float, double, int32_t, int64_t>(linspace),
});

void infer_logspace(InferContext& c) {
  infer_linspace(c);
  c.in("Base");
}

// Powers of Base, worked out in f64 whatever their dtype is.
void lower_logspace(LowerContext& c) {
  const int32_t code = c.attr<int32_t>("dtype");
  const auto widened = [&](const char* slot) { return c.cast(c.in(slot), f64); };
  const Slots ends = {
      {"Start", {widened("Start")}}, {"Stop", {widened("Stop")}}, {"Num", {c.in("Num")}}};
  const std::string exponents = c.append("linspace", ends, {{"dtype", to_paddle(f64)}});
  const std::string powers = c.apply("elementwise_pow", widened("Base"), exponents);
  c.result("Out", c.cast(powers, code < 0 ? c.var(c.in("Start")).dtype : from_paddle(code)));
}

const OpDef& logspace = define_op({
    .type = "logspace",
    .doc = "Base to the power of Num numbers from Start to Stop, evenly spaced.",
    .inputs = {constant_number("Start", "first exponent"), constant_number("Stop", "last exponent"),
               constant_number("Num", "how many"), constant_number("Base", "what is raised")},
    .outputs = {{.name = "Out", .doc = "a vector"}},
    .attrs = {{"dtype", int32_t{-1}, "code of the dtype of Out; -1: that of Start"}},
    .infer = infer_logspace,
    .lower = lower_logspace,
});

}  // namespace
}  // namespace flotilla::ops
