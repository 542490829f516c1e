// flotilla/ops/common/shape_checks.h
//
// What `infer` asks of the shapes and dtypes of inputs. An extent that is not known yet fits any
// other.

#pragma once

#include <string_view>

#include "flotilla/op/infer.h"

namespace flotilla::ops {

// Whether two extents, or numbers of elements, may be equal.
inline bool fits(int64_t a, int64_t b) { return a == b || a < 0 || b < 0; }

// Whether two shapes may be equal.
inline bool fits(const Shape& a, const Shape& b) {
  bool all = a.rank() == b.rank();
  for (int64_t axis = 0; all && axis < a.rank(); ++axis) all = fits(a[axis], b[axis]);
  return all;
}

// Refuses an input, where it is given, that has another shape than `model` has.
inline void check_same_shape(const InferContext& c, std::string_view slot,
                             std::string_view model = "X") {
  if (!c.has_in(slot)) return;
  const Shape &found = c.in(slot).shape, &wanted = c.in(model).shape;
  require(fits(found, wanted), "{} must have the shape of {}, but is {} and {} is {}", slot, model,
          found, model, wanted);
}

// Every output is as the input `model`.
inline void set_all_like(InferContext& c, std::string_view model = "X") {
  for (const Slot& slot : c.def().outputs) c.out(slot.name) = like(c.in(model));
}

// Refuses two inputs of different shapes.
inline void check_one_shape(const InferContext& c, std::string_view x, std::string_view y) {
  const Shape &a = c.in(x).shape, &b = c.in(y).shape;
  require(fits(a, b), "{} and {} must have one shape, but they are {} and {}", x, y, a, b);
}

// Refuses two inputs of different dtypes.
inline void check_one_dtype(const InferContext& c, std::string_view x, std::string_view y) {
  require(c.dtype(x) == c.dtype(y), "{} and {} must have one dtype, but hold {} and {}", x, y,
          c.dtype(x), c.dtype(y));
}

// Refuses an input, where it is given, of another number of elements.
inline void check_count(const InferContext& c, std::string_view slot, int64_t count) {
  if (!c.has_in(slot)) return;
  const Shape& found = c.in(slot).shape;
  require(fits(found.numel(), count), "{} must hold {} numbers, but has shape {}", slot, count,
          found);
}

}  // namespace flotilla::ops
