#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/device/cuda/check.h"
#include "flotilla/device/cuda/memory.h"
#include "flotilla/device/cuda/reorder.h"

namespace flotilla::cuda {
namespace {

constexpr int kMostAxes = 9;  // with inner blocks
constexpr int kTile = 32;
constexpr int kTileRows = 8;
constexpr int kThreads = 256;

cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.handle); }

// Where an element lies: axis by axis, its index is cut by the inner blocks of that axis.
struct Places {
  struct Part {
    int64_t divisor = 1;  // of the index of the axis
    int64_t modulus = 0;  // after that; 0: none
    int64_t stride = 0;
    int axis = 0;
  };
  Part parts[2 * kMostAxes] = {};
  int count = 0;

  __device__ int64_t of(const int64_t* index) const {
    int64_t place = 0;
    for (int p = 0; p < count; ++p) {
      int64_t i = index[parts[p].axis] / parts[p].divisor;
      if (parts[p].modulus > 0) i %= parts[p].modulus;
      place += i * parts[p].stride;
    }
    return place;
  }
};

Places places_of(const Layout& layout, const Shape& shape) {
  Places places;
  const auto rank = static_cast<size_t>(shape.rank());
  std::vector<int64_t> cut(rank, 1);  // by the inner blocks that lie within the one at hand
  int64_t inner = 1;
  for (auto block = layout.inner().rbegin(); block != layout.inner().rend(); ++block) {
    int64_t& divisor = cut[static_cast<size_t>(block->axis)];
    places.parts[places.count++] = {divisor, block->size, inner, block->axis};
    divisor *= block->size;
    inner *= block->size;
  }
  const std::vector<int64_t> strides = layout.outer_strides(shape);
  for (size_t a = 0; a < rank; ++a) {
    places.parts[places.count++] = {cut[a], 0, strides[a], static_cast<int>(a)};
  }
  return places;
}

struct Extents {
  int64_t axis[kMostAxes] = {};
  int rank = 0;
};

template <typename T>
__global__ void move_each(int64_t n, Extents extents, Places from, Places to, const T* in, T* out) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    int64_t index[kMostAxes];
    int64_t rest = i;
    for (int a = extents.rank - 1; a >= 0; --a) {
      index[a] = rest % extents.axis[a];
      rest /= extents.axis[a];
    }
    out[to.of(index)] = in[from.of(index)];
  }
}

// Each of `batch` matrices of rows × columns becomes one of columns × rows.
template <typename T>
__global__ void transpose_each(int64_t rows, int64_t columns, const T* in, T* out) {
  __shared__ T tile[kTile][kTile + 1];
  const int64_t matrix = int64_t{blockIdx.z} * rows * columns;
  int64_t row = int64_t{blockIdx.y} * kTile + threadIdx.y;
  int64_t column = int64_t{blockIdx.x} * kTile + threadIdx.x;
  for (int r = 0; r < kTile; r += kTileRows) {
    if (row + r < rows && column < columns) {
      tile[threadIdx.y + r][threadIdx.x] = in[matrix + (row + r) * columns + column];
    }
  }
  __syncthreads();
  row = int64_t{blockIdx.x} * kTile + threadIdx.y;
  column = int64_t{blockIdx.y} * kTile + threadIdx.x;
  for (int r = 0; r < kTile; r += kTileRows) {
    if (row + r < columns && column < rows) {
      out[matrix + (row + r) * rows + column] = tile[threadIdx.x][threadIdx.y + r];
    }
  }
}

// The axes of a change between plain order and channels last: [batch, rows, columns] is what
// `plain` holds of it.
bool is_channels_last(const Layout& layout, int64_t rank) {
  std::vector<int32_t> order{0};
  for (int32_t a = 2; a < rank; ++a) order.push_back(a);
  order.push_back(1);
  return rank >= 3 && layout.inner().empty() && layout.order() == order;
}

template <typename T>
Reorder reorder_of(const GpuInfo& gpu, Stream stream, const Shape& shape, const Layout& from,
                   const Layout& to) {
  const int64_t n = shape.numel();
  const int64_t rank = shape.rank();
  const bool forth = from.plain() && is_channels_last(to, rank);
  const bool back = to.plain() && is_channels_last(from, rank);
  if (n > 0 && (forth || back) && shape[0] <= 65535) {
    const int64_t channels = shape[1], inside = n / (shape[0] * channels);
    const int64_t rows = forth ? channels : inside, columns = forth ? inside : channels;
    const int64_t blocks_down = (rows + kTile - 1) / kTile;
    if (blocks_down <= 65535) {
      const dim3 grid(static_cast<unsigned>((columns + kTile - 1) / kTile),
                      static_cast<unsigned>(blocks_down), static_cast<unsigned>(shape[0]));
      return {.run = [=](const void* in, void* out, void*) {
        transpose_each<T><<<grid, dim3(kTile, kTileRows), 0, native(stream)>>>(
            rows, columns, static_cast<const T*>(in), static_cast<T*>(out));
        check(cudaGetLastError(), "transpose {} elements", n);
      }};
    }
  }
  Extents extents{.rank = static_cast<int>(rank)};
  for (int a = 0; a < extents.rank; ++a) extents.axis[a] = shape[a];
  const int64_t padded =
      to.physical_numel(shape) > n ? to.physical_numel(shape) * static_cast<int64_t>(sizeof(T)) : 0;
  const auto blocks = static_cast<unsigned>(
      std::clamp<int64_t>((n + kThreads - 1) / kThreads, 1, int64_t{gpu.processors} * 8));
  return {.run = [=, source = places_of(from, shape), target = places_of(to, shape)](
                     const void* in, void* out, void*) {
    if (padded > 0) fill(out, 0, padded, stream);
    if (n == 0) return;
    move_each<T><<<blocks, kThreads, 0, native(stream)>>>(
        n, extents, source, target, static_cast<const T*>(in), static_cast<T*>(out));
    check(cudaGetLastError(), "reorder {} elements", n);
  }};
}

}  // namespace

Reorder reorder(const GpuInfo& gpu, Stream stream, const Shape& shape, DType dtype,
                const Layout& from, const Layout& to) {
  require(shape.rank() <= kMostAxes,
          "a tensor on a GPU is reordered with at most {} axes, but has {}", kMostAxes,
          shape.rank());
  switch (size_of(dtype)) {
    case 1:
      return reorder_of<uint8_t>(gpu, stream, shape, from, to);
    case 2:
      return reorder_of<uint16_t>(gpu, stream, shape, from, to);
    case 4:
      return reorder_of<uint32_t>(gpu, stream, shape, from, to);
    default:
      return reorder_of<uint64_t>(gpu, stream, shape, from, to);
  }
}

}  // namespace flotilla::cuda
