// assign and its other names on a GPU; assign.cc defines them.

#include <initializer_list>

#include "flotilla/ops/common/gpu_kernels.h"
#include "flotilla/ops/common/move.h"
#include "flotilla/ops/common/sparse_rows.cuh"

namespace flotilla::ops {
namespace {

template <typename T>
Step forward_sparse(PrepareContext& c) {
  return [stream = c.around().stream, x = c.sparse_in<T>("X"), out = c.sparse_out<T>("Out")] {
    copy_elements(stream, out.rows.data(), x.rows.data(), x.count);
    copy_elements(stream, out.value.data(), x.value.data(), x.count * x.width);
  };
}

Step forward(PrepareContext& c) {
  if (!c.is_sparse("X")) return pass_through(c, "X", "Out", c.layout("X"));
  return c.dtype("X") == f64 ? forward_sparse<double>(c) : forward_sparse<float>(c);
}

bool add(std::initializer_list<const char*> types) {
  for (const char* type : types) add_kernels(type, gpu_kernels_of_every_dtype(forward));
  return true;
}

[[maybe_unused]] const bool kAdded =
    add({"assign", "share_data", "memcpy", "memcpy_h2d", "memcpy_d2h"});

}  // namespace
}  // namespace flotilla::ops
