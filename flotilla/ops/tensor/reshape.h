// The operators that give a tensor other extents and leave its elements where they are. The forms
// whose names end in 2 also give XShape: the gradient needs no more of X.

#pragma once

#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/x_shape.h"

namespace flotilla::ops {

// Out with this shape, and XShape.
inline void set_outputs(InferContext& c, const Shape& shape) {
  const VarMeta& x = c.in("X");
  const bool keeps_rows = x.shape.rank() > 0 && shape.rank() > 0 && shape[0] == x.shape[0];
  VarMeta out = keeps_rows ? like(x, shape) : VarMeta::tensor(x.dtype, shape);
  remember_same(out, x);
  c.out("XShape") = x_shape_of(x);
  c.out("Out") = std::move(out);
}

struct Reshaping {
  std::string type = {};  // of the form without XShape
  std::string doc = {};
  std::vector<Slot> inputs = {{.name = "X", .doc = "tensor"}};
  std::vector<AttrSpec> attrs = {};
  void (*infer)(InferContext&) = nullptr;
};

// `type` in the form with XShape, or without.
bool define_reshaping(const Reshaping& row, const std::string& type, bool with_x_shape);
// Both forms: the type, and with a 2 behind it.
bool define_reshapings(const Reshaping& row);

}  // namespace flotilla::ops
