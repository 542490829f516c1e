// assign and its other names on a GPU; assign.cc defines them. Sparse rows have no kernel here.

#include "flotilla/ops/common/gpu_kernels.h"

namespace flotilla::ops {
namespace {

[[maybe_unused]] const bool kAdded =
    add_every_dtype_as_on_cpu({"assign", "share_data", "memcpy", "memcpy_h2d", "memcpy_d2h"});

}  // namespace
}  // namespace flotilla::ops
