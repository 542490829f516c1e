// flotilla/ops/common/dtype_attr.h
//
// The dtype of an output that an attribute names, by Paddle's code.

#pragma once

#include "flotilla/op/infer.h"

namespace flotilla::ops {

inline DType dtype_attr(const InferContext& c, std::string_view name = "dtype") {
  const int code = static_cast<int>(c.attr<int64_t>(name));
  require(is_paddle_dtype(code), "{} of {} must name a dtype, but is {}", name, c.op().type(),
          code);
  return from_paddle(code);
}

// -1 leaves that of an input.
inline DType dtype_attr_or(const InferContext& c, DType other) {
  return c.attr<int64_t>("dtype") < 0 ? other : dtype_attr(c);
}

inline AttrSpec dtype_spec(int32_t initial = 5) {
  return {"dtype", initial, "code of the dtype of Out"};
}

}  // namespace flotilla::ops
