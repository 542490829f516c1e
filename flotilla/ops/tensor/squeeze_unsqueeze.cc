// squeeze drops axes of extent 1, unsqueeze inserts some; see reshape.h.

#include "flotilla/ops/tensor/reshape.h"

namespace flotilla::ops {
namespace {

void infer_squeeze(InferContext& c) {
  const Shape& x = c.in("X").shape;
  std::vector<bool> named(static_cast<size_t>(x.rank()), false);
  const Ints axes = c.attr<Ints>("axes");
  for (const int64_t axis : axes) named[static_cast<size_t>(x.axis(axis))] = true;
  Shape out;
  for (int64_t a = 0; a < x.rank(); ++a) {
    // An extent that is not one stays, named or not.
    const bool drop = x[a] == 1 && (axes.empty() || named[static_cast<size_t>(a)]);
    if (!drop) out.push_back(x[a]);
  }
  set_outputs(c, out);
}

const IntSource kAxes = {"AxesTensor", "AxesTensorList", "axes"};

void infer_unsqueeze(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const std::optional<Ints> known = known_ints(c, kAxes);
  if (!known) return set_outputs(c, Shape(Ints(ints_of(c, kAxes).size() + x.dims().size(), -1)));
  // One after the other: an axis is a place in what the ones before it have made.
  Ints dims = x.dims();
  for (const int64_t axis : *known) {
    const int64_t places = static_cast<int64_t>(dims.size()) + 1;
    require(-places <= axis && axis < places,
            "an axis to insert into shape {} must lie in [{}, {}), but is {}", Shape(dims), -places,
            places, axis);
    dims.insert(dims.begin() + (axis < 0 ? axis + places : axis), 1);
  }
  set_outputs(c, Shape(std::move(dims)));
}

const bool squeeze = define_reshapings(
    {"squeeze",
     "Drops the axes of X in `axes` that have extent 1; all of them where `axes` is empty.",
     {{.name = "X", .doc = "tensor"}},
     {{"axes", std::vector<int32_t>{}, "axes to drop"}},
     infer_squeeze});
const bool unsqueeze =
    define_reshapings({"unsqueeze",
                       "Inserts axes of extent 1.",
                       with_slots_of({kAxes}, {{.name = "X", .doc = "tensor"}}),
                       {{"axes", std::vector<int32_t>{}, "where to insert, one after the other"}},
                       infer_unsqueeze});

}  // namespace
}  // namespace flotilla::ops
