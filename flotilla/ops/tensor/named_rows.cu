// flotilla/ops/tensor/named_rows.cu
//
// Rows that numbers name, on a GPU: gather, scatter and their relatives.

#include "flotilla/device/cuda/memory.h"
#include "flotilla/ops/common/gpu_kernels.h"
#include "flotilla/ops/common/row_moves.cuh"
#include "flotilla/ops/tensor/named_rows.h"

namespace flotilla::ops {
namespace {

Step take(PrepareContext& c, std::string_view in, std::string_view out, const NamesOnGpu& rows) {
  return [rows, queue = GpuQueue(c), size = size_of(c.dtype(in)), from = c.in_bytes(in),
          to = c.out_bytes(out)] {
    take_named(queue, rows.names, numbers_at(rows.numbers), ListPlaces::dense(rows.names),
               from.data(), to.data(), size);
  };
}

// A copy of `in`, unless it lies there already.
Step clear(PrepareContext& c, std::string_view in, std::string_view out, const NamesOnGpu& rows) {
  const int64_t size = size_of(c.dtype(in));
  return [rows, queue = GpuQueue(c), size, bytes = c.shape(in).numel() * size,
          from = c.in_bytes(in), to = c.out_bytes(out)] {
    if (to.data() != from.data()) cuda::copy(to.data(), from.data(), bytes, queue.stream);
    clear_named(queue, rows.names, numbers_at(rows.numbers), to.data(), size);
  };
}

template <typename T>
RowPutter<T> putter(PrepareContext& c, const NamesOnGpu& rows) {
  return RowPutter<T>(c, rows.names, ListPlaces::dense(rows.names));
}

template <typename T>
Step give_back(PrepareContext& c, std::string_view in, std::string_view out, const NamesOnGpu& rows,
               bool replace) {
  return [numbers = rows.numbers, how = replace ? Put::kReplace : Put::kReplaceBySum,
          putter = putter<T>(c, rows), stream = c.around().stream,
          bytes = c.shape(out).numel() * static_cast<int64_t>(sizeof(T)), from = c.in<T>(in),
          to = c.out<T>(out)] {
    cuda::fill(to.data(), 0, bytes, stream);
    putter.run(numbers_at(numbers), from.data(), to.data(), how);
  };
}

template <typename T>
Step put(PrepareContext& c, std::string_view in, std::string_view list, std::string_view out,
         const NamesOnGpu& rows, Put how) {
  return [numbers = rows.numbers, how, putter = putter<T>(c, rows), stream = c.around().stream,
          bytes = c.shape(in).numel() * static_cast<int64_t>(sizeof(T)), x = c.in<T>(in),
          updates = c.in<T>(list), to = c.out<T>(out)] {
    if (to.data() != x.data()) cuda::copy(to.data(), x.data(), bytes, stream);
    putter.run(numbers_at(numbers), updates.data(), to.data(), how);
  };
}

template <typename T>
Step clear_replaced(PrepareContext& c, std::string_view list, const NamesOnGpu& rows) {
  return [numbers = rows.numbers, putter = putter<T>(c, rows), list = c.out<T>(list)] {
    putter.clear_replaced(numbers_at(numbers), list.data());
  };
}

template <typename... T>
bool fill_in() {
  gpu_rows = {.take = take, .clear = clear};
  ((gpu_sums<T> = {.give_back = give_back<T>, .put = put<T>, .clear_replaced = clear_replaced<T>}),
   ...);
  return true;
}
[[maybe_unused]] const bool kFilled = fill_in<float, double, int32_t, int64_t>();

[[maybe_unused]] const bool kMoves =
    add_every_dtype_as_on_cpu(
        {"gather", "index_select", "gather_nd", "index_add_grad", "scatter_nd_add_grad"}) &&
    add_as_on_cpu<float, double, int32_t, int64_t, bool, uint8_t, int8_t, int16_t>(
        {"take_along_axis"});

[[maybe_unused]] const bool kSums =
    add_as_on_cpu<float, double, int32_t, int64_t>(
        {"gather_grad", "index_select_grad", "gather_nd_grad", "index_sample", "index_add",
         "scatter", "scatter_grad", "scatter_nd_add", "put_along_axis"}) &&
    add_as_on_cpu<float, double>(
        {"take_along_axis_grad", "index_sample_grad", "put_along_axis_grad"});

}  // namespace
}  // namespace flotilla::ops
