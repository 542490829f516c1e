// flotilla/ops/optim/rows.cuh
//
// Sparse gradients on a GPU: repeated rows are added up in an order that follows from the row
// numbers alone, so that results repeat to the bit.
//
// Sorted (device/cuda/row_order.h), equal rows are runs. The sorted numbers are cut into pieces of
// kRowPiece, and a run with them: a thread adds up one column of one run within one piece. A run
// within a piece is done then; of a run that a border cuts, the parts of all pieces are added up by
// one block in a second launch, however often the row occurs.
//
//   piece       0           1           2
//   rows    3 3 5 5 5 | 5 5 5 5 5 | 5 7 7 8 8        3, 7, 8: done by the first launch
//               tail    head        head             5: tail of 0 + head of 1 + head of 2

#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "flotilla/device/cuda/check.h"
#include "flotilla/device/cuda/row_order.h"
#include "flotilla/kernel/prepare.h"

namespace flotilla::ops {

inline constexpr int64_t kRowPiece = 64;
inline constexpr int kRowThreads = 256;

template <typename T>
struct SortedRows {
  cuda::RowOrder order = {};
  int64_t width = 0;
  const uint64_t* keys = nullptr;
  const T* values = nullptr;
  T* heads = nullptr;  // of each piece, the part of a run that began before
  T* tails = nullptr;  // of each piece, the part of a run that goes on behind

  __device__ int64_t row(int64_t i) const {
    return static_cast<int64_t>(keys[i] >> order.position_bits);
  }
  __device__ T value(int64_t i, int64_t column) const {
    const uint64_t mask = (uint64_t{1} << order.position_bits) - 1;
    return values[static_cast<int64_t>(keys[i] & mask) * width + column];
  }
};

// The runs within a piece go to `sink`.
template <typename T, typename Sink>
__global__ void __launch_bounds__(kRowThreads)
    sum_pieces(SortedRows<T> rows, const __grid_constant__ Sink sink) {
  if (sink.skips()) return;
  const int64_t count = rows.order.count, all = count * rows.width;
  const int64_t thread = int64_t{blockIdx.x} * kRowThreads + threadIdx.x;
  if (thread >= all) return;
  // A division of 32 bits is much faster.
  const int64_t begin = all <= UINT32_MAX
                            ? static_cast<uint32_t>(thread) / static_cast<uint32_t>(rows.width)
                            : thread / rows.width;
  const int64_t column = thread - begin * rows.width;
  const int64_t row = rows.row(begin);
  const bool starts = begin == 0 || rows.row(begin - 1) != row;
  if ((!starts && begin % kRowPiece != 0) || row >= rows.order.height) return;
  const int64_t piece = begin / kRowPiece;
  const int64_t border = min((piece + 1) * kRowPiece, count);
  int64_t end = begin + 1;
  while (end < border && rows.row(end) == row) ++end;
  T sum = rows.value(begin, column);
#pragma unroll 4
  for (int64_t i = begin + 1; i < end; ++i) sum += rows.value(i, column);
  if (!starts) {
    rows.heads[piece * rows.width + column] = sum;
  } else if (end == border && end < count && rows.row(end) == row) {
    rows.tails[piece * rows.width + column] = sum;
  } else {
    sink(row, column, sum);
  }
}

// A block for each piece: the run that begins there and is cut at its end goes to `sink`. Threads
// are lanes × columns; each lane adds up every so many pieces.
template <typename T, typename Sink>
__global__ void __launch_bounds__(kRowThreads)
    sum_cut_runs(SortedRows<T> rows, const __grid_constant__ Sink sink) {
  __shared__ T parts[kRowThreads];
  if (sink.skips()) return;
  const int64_t count = rows.order.count, width = rows.width, piece = blockIdx.x;
  const int64_t begin = piece * kRowPiece, border = begin + kRowPiece;
  if (border >= count) return;
  const int64_t row = rows.row(border);
  if (row >= rows.order.height || rows.row(border - 1) != row) return;
  if (begin > 0 && rows.row(begin - 1) == row) return;
  int64_t low = border + 1, high = count;  // the end of the run lies between them
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (rows.row(middle) == row) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const int64_t last = (low - 1) / kRowPiece;
  const int columns = static_cast<int>(blockDim.x), lanes = static_cast<int>(blockDim.y);
  for (int64_t first = 0; first < width; first += columns) {
    const int64_t column = first + threadIdx.x;
    T sum = 0;
    if (column < width) {
#pragma unroll 4
      for (int64_t p = piece + 1 + threadIdx.y; p <= last; p += lanes) {
        sum += rows.heads[p * width + column];
      }
    }
    parts[threadIdx.y * columns + threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < width) {
      T all = rows.tails[piece * width + column];
      for (int lane = 0; lane < lanes; ++lane) all += parts[lane * columns + threadIdx.x];
      sink(row, column, all);
    }
    __syncthreads();
  }
}

// The gradient in slot `Grad`. A sink is a value with
//   __device__ bool skips() const;                                        nothing is to be done
//   __device__ void operator()(int64_t row, int64_t column, T sum) const; once for each
template <typename T>
class CudaRows {
 public:
  explicit CudaRows(PrepareContext& c)
      : grad_(c.sparse_in<T>("Grad")),
        order_(cuda::RowOrder::of(grad_.count, grad_.height)),
        pieces_((grad_.count + kRowPiece - 1) / kRowPiece),
        keys_(c.workspace<uint64_t>(grad_.count)),
        sorted_(c.workspace<uint64_t>(grad_.count)),
        work_(c.workspace(order_.workspace_bytes())),
        heads_(c.workspace<T>(pieces_ * grad_.width)),
        tails_(c.workspace<T>(pieces_ * grad_.width)) {}

  int64_t count() const { return grad_.count; }
  int64_t width() const { return grad_.width; }
  int64_t height() const { return grad_.height; }
  const int64_t* numbers() const { return grad_.rows.data(); }

  // Enqueues the sum. Rows that the parameter does not have are left out.
  template <typename Sink>
  void sum(Stream stream, const Sink& sink) const {
    if (count() == 0 || width() == 0) return;
    order_.sort(stream, numbers(), keys_.data(), sorted_.data(), work_.data());
    const SortedRows<T> rows = {.order = order_,
                                .width = width(),
                                .keys = sorted_.data(),
                                .values = grad_.value.data(),
                                .heads = heads_.data(),
                                .tails = tails_.data()};
    const auto queue = static_cast<cudaStream_t>(stream.handle);
    const auto blocks = static_cast<unsigned>((count() * width() + kRowThreads - 1) / kRowThreads);
    sum_pieces<<<blocks, kRowThreads, 0, queue>>>(rows, sink);
    cuda::check(cudaGetLastError(), "add up {} rows", count());
    if (pieces_ == 1) return;
    unsigned columns = 1;
    while (columns < 32 && columns < width()) columns *= 2;
    sum_cut_runs<<<static_cast<unsigned>(pieces_), dim3(columns, kRowThreads / columns), 0,
                   queue>>>(rows, sink);
    cuda::check(cudaGetLastError(), "add up what repeats among {} rows", count());
  }

 private:
  SparseIn<T> grad_;
  cuda::RowOrder order_;
  int64_t pieces_;
  Out<uint64_t> keys_, sorted_;
  Out<char> work_;
  Out<T> heads_, tails_;
};

}  // namespace flotilla::ops
