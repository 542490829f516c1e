// flotilla/ops/fused/lookup_concat.cu
//
// lookup_concat on a GPU: up to kMost pieces of all rows in one launch. An id that is no row gives
// zeros.

#include <cuda_runtime.h>

#include <algorithm>

#include "flotilla/device/cuda/check.h"
#include "flotilla/device/cuda/memory.h"
#include "flotilla/device/cuda/strided.h"
#include "flotilla/kernel/in_order.h"
#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/row_moves.cuh"
#include "flotilla/ops/common/table_rows.h"
#include "flotilla/ops/fused/lookup_concat.h"

namespace flotilla::ops {
namespace {

constexpr int kThreads = 256;

// ---- Forward ------------------------------------------------------------------------------------

// One piece of Out: rows of a table, or columns of another tensor, which has no ids.
template <typename T>
struct Source {
  const T* data = nullptr;
  Numbers ids = {};
  int64_t begin = 0, columns = 0;  // of Out
  int64_t width = 1, height = 0;   // of the table
  int64_t padding = -1;

  __device__ T at(int64_t row, int64_t column) const {
    if (ids.data == nullptr) return data[row * columns + column];
    const int64_t within = column / width;
    const int64_t id = ids[row * (columns / width) + within];
    const bool none = id < 0 || id >= height || (id == padding && padding != -1);
    return none ? T{0} : data[id * width + column - within * width];
  }
};

template <typename T>
struct Sources {
  static constexpr int kMost = 48;  // as many as fit into the arguments of a launch

  Source<T> source[kMost] = {};
  int count = 0;

  int64_t begin() const { return source[0].begin; }
  int64_t columns() const { return source[count - 1].begin + source[count - 1].columns - begin(); }
  __device__ const Source<T>& holding(int64_t column) const {
    int low = 0, high = count;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (source[middle].begin <= column ? low : high) = middle;
    }
    return source[low];
  }
};
static_assert(sizeof(Sources<double>) < 4000);

template <typename T>
__global__ void __launch_bounds__(kThreads)
    put_together(int64_t rows, int64_t begin, int64_t columns, int64_t all_columns,
                 const Sources<T> sources, T* out) {
  const int64_t n = rows * columns, stride = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += stride) {
    const int64_t row = i / columns, column = begin + i - row * columns;
    const Source<T>& source = sources.holding(column);
    out[row * all_columns + column] = source.at(row, column - source.begin);
  }
}

// What a Step makes a Source of.
template <typename T>
struct SourceHandles {
  Source<T> source = {};
  In<T> data = {};
  LabelsIn ids = {};
  bool looked_up = false;
};

template <typename T>
std::vector<SourceHandles<T>> sources_of(PrepareContext& c) {
  std::vector<SourceHandles<T>> found;
  const std::vector<LookupPiece> pieces = pieces_of(c);
  for (size_t k = 0; k < pieces.size(); ++k) {
    const TableRows<T> table(c, pieces[k].table);
    found.push_back({{.begin = pieces[k].offset,
                      .columns = pieces[k].columns,
                      .width = table.width,
                      .height = table.height,
                      .padding = padding_row(pieces[k].padding, table.height)},
                     c.in<T>("W", pieces[k].table),
                     LabelsIn(c, "Ids", k),
                     true});
  }
  const Ints offsets = c.attr<Ints>("x_offsets");
  for (size_t j = 0; j < offsets.size(); ++j) {
    found.push_back(
        {{.begin = offsets[j], .columns = c.shape("X", j)[1]}, c.in<T>("X", j), {}, false});
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.source.begin < b.source.begin; });
  return found;
}

constexpr auto forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return [rows = c.shape("Out")[0], columns = c.shape("Out")[1], handles = sources_of<T>(c),
          queue = GpuQueue(c), out = c.out<T>("Out")] {
    for (size_t first = 0; first < handles.size(); first += Sources<T>::kMost) {
      Sources<T> sources;
      const size_t end = std::min(first + Sources<T>::kMost, handles.size());
      for (size_t i = first; i < end; ++i) {
        Source<T>& source = sources.source[sources.count++];
        source = handles[i].source;
        source.data = handles[i].data.data();
        if (handles[i].looked_up) source.ids = numbers_at(handles[i].ids);
      }
      const int64_t n = rows * sources.columns();
      if (n == 0) continue;
      const auto blocks = static_cast<unsigned>(
          std::min<int64_t>((n + kThreads - 1) / kThreads, int64_t{queue.processors} * 8));
      put_together<<<blocks, kThreads, 0, static_cast<cudaStream_t>(queue.stream.handle)>>>(
          rows, sources.begin(), sources.columns(), columns, sources, out.data());
      cuda::check(cudaGetLastError(), "put {} rows together", rows);
    }
  };
};

// ---- Backward -----------------------------------------------------------------------------------

// The gradient of one lookup, as it lies in Out@GRAD.
struct Part {
  RowNames names = {};
  ListPlaces places = {};
  LabelsIn ids = {};
  int64_t offset = 0;  // column of Out
};

std::vector<Part> parts_of(PrepareContext& c, size_t table) {
  const int64_t height = c.shape("W", table)[0], width = c.shape("W", table)[1];
  const std::vector<LookupPiece> pieces = pieces_of(c);
  std::vector<Part> parts;
  for (size_t k = 0; k < pieces.size(); ++k) {
    if (pieces[k].table != table) continue;
    parts.push_back({{.count = c.shape("Ids", k).numel(),
                      .width = width,
                      .rows = height,
                      .padding = padding_row(pieces[k].padding, height)},
                     {.per_row = pieces[k].columns / width, .stride = c.shape("Out@GRAD")[1]},
                     LabelsIn(c, "Ids", k),
                     pieces[k].offset});
  }
  return parts;
}

template <typename T>
Step sparse_table(PrepareContext& c, size_t table) {
  return [parts = parts_of(c, table), queue = GpuQueue(c), dout = c.in<T>("Out@GRAD"),
          grad = c.sparse_out<T>("W@GRAD", table)] {
    int64_t first = 0;  // of the rows of the table's lookups before
    for (const Part& part : parts) {
      list_named(queue, part.names, numbers_at(part.ids), part.places, dout.data() + part.offset,
                 grad.rows.data() + first, grad.value.data() + first * grad.width, sizeof(T));
      first += part.names.count;
    }
  };
}

// Of each lookup the repeated rows first, then the lookups: the order in which a sum adds.
template <typename T>
Step dense_table(PrepareContext& c, size_t table) {
  std::vector<Part> parts = parts_of(c, table);
  std::vector<RowPutter<T>> putters;
  for (const Part& part : parts) putters.emplace_back(c, part.names, part.places);
  return [parts = std::move(parts), putters = std::move(putters), stream = c.around().stream,
          bytes = c.shape("W", table).numel() * static_cast<int64_t>(sizeof(T)),
          dout = c.in<T>("Out@GRAD"), grad = c.out<T>("W@GRAD", table)] {
    cuda::fill(grad.data(), 0, bytes, stream);
    for (size_t i = 0; i < parts.size(); ++i) {
      putters[i].run(numbers_at(parts[i].ids), dout.data() + parts[i].offset, grad.data(),
                     Put::kAdd);
    }
  };
}

constexpr auto backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  std::vector<Step> steps;
  const Ints sparse = c.attr<Ints>("is_sparse"), offsets = c.attr<Ints>("x_offsets");
  for (size_t t = 0; t < sparse.size(); ++t) {
    if (!c.has("W@GRAD", t)) continue;
    steps.push_back(sparse[t] != 0 ? sparse_table<T>(c, t) : dense_table<T>(c, t));
  }
  const int64_t columns = c.shape("Out@GRAD")[1];
  for (size_t j = 0; j < offsets.size(); ++j) {
    if (!c.has("X@GRAD", j)) continue;
    const int64_t rows = c.shape("X", j)[0], width = c.shape("X", j)[1];
    steps.push_back([copy = cuda::StridedCopy({rows, width}, {width, 1}, {columns, 1}, sizeof(T)),
                     queue = GpuQueue(c), offset = offsets[j], dout = c.in<T>("Out@GRAD"),
                     dx = c.out<T>("X@GRAD", j)] {
      copy.run(queue.stream, queue.processors, dx.data(), dout.data() + offset);
    });
  }
  return in_order(std::move(steps));
};

[[maybe_unused]] const bool kLookups =
    add_kernels("lookup_concat", cuda_kernels_for<float, double>(forward)) &&
    add_kernels("lookup_concat_grad", cuda_kernels_for<float, double>(backward));

}  // namespace
}  // namespace flotilla::ops
