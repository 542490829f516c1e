// range: the numbers from Start up to and without End, in steps of Step.

#include <algorithm>
#include <cmath>

#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

// Numbers from `first` up to and without `last`.
template <typename T>
int64_t range_count(T first, T last, T step) {
  require(step != 0, "Step of range must not be 0");
  require(first == last || (step > 0) == (last > first),
          "range cannot go from {} to {} in steps of {}", first, last, step);
  if constexpr (std::is_integral_v<T>) {
    // Without a sign the difference of any two numbers fits.
    const auto wide = [](int64_t number) { return static_cast<uint64_t>(number); };
    const uint64_t span = last > first ? wide(last) - wide(first) : wide(first) - wide(last);
    const uint64_t stride = step > 0 ? wide(step) : -wide(step);
    return checked_extent(static_cast<double>(span / stride + (span % stride != 0)));
  } else {
    return checked_extent(std::ceil((last - first) / step));
  }
}

// Where a number is not known, the size waits for the run.
void infer_range(InferContext& c) {
  VarMeta out = VarMeta::tensor(c.dtype("Start"), {-1});
  const std::optional<Ints>&start = c.in("Start").value, &end = c.in("End").value,
        &step = c.in("Step").value;
  if (start && end && step) {
    const int64_t first = start->at(0), by = step->at(0);
    out.shape = {range_count(first, end->at(0), by)};
    Ints values;
    for (int64_t i = 0; i < std::min<int64_t>(out.shape[0], 64); ++i) {
      values.push_back(first + i * by);  // between Start and End, so that it fits
    }
    remember(out, std::move(values));
  }
  c.out("Out") = std::move(out);
}

template <typename T>
void write_range(T* to, int64_t n, T first, T step) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(first + static_cast<T>(i) * step);
}

constexpr auto range = []<typename T>(PrepareContext& c) -> Step {
  const In<T> start = c.in<T>("Start"), step = c.in<T>("Step");
  if (c.shape("Out").known()) {
    return [n = c.shape("Out").numel(), start, step, out = c.out<T>("Out")] {
      write_range(out.data(), n, *start.data(), *step.data());
    };
  }
  return [start, step, end = c.in<T>("End"), out = c.dynamic_out<T>("Out")] {
    const T first = *start.data(), by = *step.data();
    const int64_t n = range_count(first, *end.data(), by);
    write_range(out.resize({n}), n, first, by);
  };
};

const OpDef& range_op = define_op({
    .type = "range",
    .doc = "The numbers from Start up to and without End, in steps of Step.",
    .inputs = {constant_number("Start", "first number"),
               constant_number("End", "where to stop before"),
               constant_number("Step", "from one number to the next")},
    .outputs = {{.name = "Out", .doc = "a vector"}},
    .infer = infer_range,
    .kernels = kernels_for<float, double, int32_t, int64_t>(range),
});

}  // namespace
}  // namespace flotilla::ops
