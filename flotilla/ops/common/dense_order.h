// flotilla/ops/common/dense_order.h
//
// Kernels that look at each element by itself take a tensor as it lies, as long as no padding lies
// between: then channels that lie last stay so from layer to layer.

#pragma once

#include "flotilla/base/layout.h"

namespace flotilla::ops {

// The layout itself where all elements lie one behind the other in some order, else plain.
inline Layout dense_order(const Layout& layout) {
  return layout.inner().empty() ? layout : Layout();
}

}  // namespace flotilla::ops
