// python/src/bind_gpu.h
//
// GPUs of a Python process.

#pragma once

#include <memory>

#include "flotilla/device/gpu.h"

namespace flotilla::python {

// The executors of a process share each GPU, and so the parameters that lie there.
std::shared_ptr<Gpu> shared_gpu(int number);

}  // namespace flotilla::python
