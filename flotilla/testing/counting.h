// flotilla/testing/counting.h

#pragma once

#include "flotilla/testing/tensors.h"

namespace flotilla {

// 0, 1, 2, …
inline Tensor counting(const Shape& shape, DType dtype = f32) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.numel(); ++i) values.push_back(static_cast<double>(i));
  return from_values(values, shape, dtype);
}

}  // namespace flotilla
