#include <cuda_runtime.h>

#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "flotilla/device/cuda/check.h"
#include "flotilla/device/cuda/row_order.h"

namespace flotilla::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void make_keys(RowOrder order, const int64_t* rows, uint64_t* keys) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= order.count) return;
  const int64_t row = rows[i];
  const int64_t place = 0 <= row && row < order.height ? row : order.height;
  keys[i] = static_cast<uint64_t>(place) << order.position_bits | static_cast<uint64_t>(i);
}

int bits_of(int64_t most) { return static_cast<int>(std::bit_width(static_cast<uint64_t>(most))); }

}  // namespace

RowOrder RowOrder::of(int64_t count, int64_t height) {
  const RowOrder order = {.count = count,
                          .height = height,
                          .position_bits = bits_of(count),
                          .row_bits = bits_of(height)};
  require(order.position_bits + order.row_bits <= 64,
          "{} row numbers below {} are more than a GPU sorts at once", count, height);
  return order;
}

// The sort keeps a copy of the keys, 1 KiB for each block (of more than 1024 keys) and for each
// digit a table of 2 KiB, for each 2^28 keys anew. It refuses where that is too little.
int64_t RowOrder::workspace_bytes() const { return 9 * count + (1 + (count >> 28)) * (1 << 18); }

void RowOrder::sort(Stream stream, const int64_t* rows, uint64_t* keys, uint64_t* sorted,
                    void* workspace) const {
  if (count == 0) return;
  const auto queue = static_cast<cudaStream_t>(stream.handle);
  make_keys<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0, queue>>>(
      *this, rows, keys);
  check(cudaGetLastError(), "number {} rows", count);
  auto bytes = static_cast<size_t>(workspace_bytes());
  // Positions ascend already, and the sort is stable.
  check(cub::DeviceRadixSort::SortKeys(workspace, bytes, keys, sorted, count, position_bits,
                                       position_bits + row_bits, queue),
        "sort {} rows", count);
}

}  // namespace flotilla::cuda
