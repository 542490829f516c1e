// roll: X moved along some axes; what leaves at one end comes in at the other.

#include <algorithm>

#include "flotilla/ops/tensor/index_map.h"

namespace flotilla::ops {
namespace {

const IntSource kShifts = {.tensor = "ShiftsTensor", .attr = "shifts"};

void infer_roll(InferContext& c) {
  if (c.running()) known_ints(c, kShifts);
  const size_t shifts = ints_of(c, kShifts).size();
  const Ints axes = c.attr<Ints>("axis");
  require(axes.empty() ? shifts == 1 : shifts == axes.size(),
          "roll needs a shift for each axis, but has {} shifts and {} axes", shifts, axes.size());
  for (const int64_t axis : axes) c.in("X").shape.axis(axis);
  c.out("Out") = like(c.in("X"));
}

// Without axes X is rolled as one long row.
AxisMaps roll_maps(const PrepareContext& c, const Shape& x, bool back) {
  const Ints shifts = known_ints(c, kShifts), axes = c.attr<Ints>("axis");
  const Shape walked = axes.empty() ? Shape{x.numel()} : x;
  Ints total(walked.dims().size(), 0);
  for (size_t i = 0; i < shifts.size(); ++i) {
    const int64_t axis = axes.empty() ? 0 : walked.axis(axes.at(i));
    const int64_t shift = shifts[i] % std::max<int64_t>(1, walked[axis]);
    total[static_cast<size_t>(axis)] += back ? -shift : shift;
  }
  AxisMaps maps;
  for (size_t a = 0; a < total.size(); ++a) {
    const int64_t extent = walked.dims()[a];
    maps.push_back({Border::kCircular, extent, extent, total[a]});
  }
  return maps;
}

template <typename T>
Step roll(PrepareContext& c, std::string_view in, std::string_view out, bool back) {
  return take_mapped<T>(c, in, out, roll_maps(c, c.shape(in), back), T{0});
}

constexpr auto roll_forward = []<typename T>(PrepareContext& c) -> Step {
  return roll<T>(c, "X", "Out", false);
};
constexpr auto roll_backward = []<typename T>(PrepareContext& c) -> Step {
  return roll<T>(c, "Out@GRAD", "X@GRAD", true);
};

const OpDef& roll_op = define_op({
    .type = "roll",
    .doc = "X moved along some axes; what leaves at one end comes in at the other.",
    .inputs = with_slots_of({kShifts}, {{.name = "X", .doc = "tensor"}}),
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .attrs = {{"shifts", std::vector<int64_t>{}, "how far along each axis"},
              {"axis", std::vector<int64_t>{}, "the axes; none: X as one long row"}},
    .infer = infer_roll,
    .grad = grad_op(
        {shape_of("X"), "ShiftsTensor"},
        {.kernels = kernels_for<float, double>(roll_backward), .infer = infer_moved_grad<kShifts>}),
    .kernels = kernels_for_all(roll_forward),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops
