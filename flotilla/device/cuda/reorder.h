// flotilla/device/cuda/reorder.h
//
// Changes of layout on a GPU.

#pragma once

#include "flotilla/device/gpu.h"

namespace flotilla::cuda {

// Any layout to any other, of elements of 1, 2, 4 or 8 bytes; between plain order and channels last
// at the speed of a copy.
Reorder reorder(const GpuInfo& gpu, Stream stream, const Shape& shape, DType dtype,
                const Layout& from, const Layout& to);

}  // namespace flotilla::cuda
