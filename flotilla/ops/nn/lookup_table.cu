// flotilla/ops/nn/lookup_table.cu
//
// Lookups in a table on a GPU, and their gradients. An id that is no row gives zeros.

#include "flotilla/device/cuda/memory.h"
#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/row_moves.cuh"
#include "flotilla/ops/common/table_rows.h"

namespace flotilla::ops {
namespace {

RowNames names_in(const PrepareContext& c) {
  const Shape& table = c.shape("W");
  return {.count = c.shape("Ids").numel(),
          .width = table[1],
          .rows = table[0],
          .padding = padding_row(c.attr<int64_t>("padding_idx"), table[0])};
}

constexpr auto forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return [queue = GpuQueue(c), names = names_in(c), table = TableRows<T>(c),
          ids = LabelsIn(c, "Ids"), out = c.out<T>("Out")] {
    take_named(queue, names, numbers_at(ids), ListPlaces::dense(names), table.data(), out.data(),
               sizeof(T));
  };
};

template <typename T>
Step backward_sparse(PrepareContext& c) {
  const SparseOut<T> grad = c.sparse_out<T>("W@GRAD");
  const RowNames names = names_in(c);
  if (names.padding == -1) c.view("Out@GRAD", "W@GRAD");
  return [grad, names, queue = GpuQueue(c), ids = LabelsIn(c, "Ids"), dout = c.in<T>("Out@GRAD")] {
    list_named(queue, names, numbers_at(ids), ListPlaces::dense(names), dout.data(),
               grad.rows.data(), grad.value.data(), sizeof(T));
  };
}

template <typename T>
Step backward_dense(PrepareContext& c) {
  const RowNames names = names_in(c);
  return [queue = GpuQueue(c), putter = RowPutter<T>(c, names, ListPlaces::dense(names)),
          bytes = c.shape("W").numel() * static_cast<int64_t>(sizeof(T)), ids = LabelsIn(c, "Ids"),
          dout = c.in<T>("Out@GRAD"), dw = c.out<T>("W@GRAD")] {
    cuda::fill(dw.data(), 0, bytes, queue.stream);
    putter.run(numbers_at(ids), dout.data(), dw.data(), Put::kReplaceBySum);
  };
}

constexpr auto backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return c.is_sparse("W@GRAD") ? backward_sparse<T>(c) : backward_dense<T>(c);
};

[[maybe_unused]] const bool kLookups = [] {
  for (const char* type : {"lookup_table", "lookup_table_v2"}) {
    add_kernels(type, cuda_kernels_for<float, double>(forward));
    add_kernels(std::string(type) + "_grad", cuda_kernels_for<float, double>(backward));
  }
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
