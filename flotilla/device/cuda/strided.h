// flotilla/device/cuda/strided.h
//
// Moves of elements on a GPU that look at none of them. All of them only enqueue.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/device/stream.h"

namespace flotilla::cuda {

// Copies a box of elements between two tensors, each with a stride of its own along every axis:
// slices, transposes, repeats, flips. Decides its order when it is made, without a GPU.
class StridedCopy {
 public:
  // Strides are in elements of `size` bytes, a power of two up to 8, and may be zero (of `from`) or
  // negative. Refuses a box that still has more than kMostAxes when axes that continue each other
  // have become one.
  StridedCopy(const std::vector<int64_t>& extents, const std::vector<int64_t>& to_strides,
              const std::vector<int64_t>& from_strides, int64_t size);
  // `to` and `from` are where the box begins; they do not overlap.
  void run(Stream stream, int processors, void* to, const void* from) const;

  static constexpr int kMostAxes = 12;

 private:
  struct Axis {
    int64_t extent = 1;
    int64_t to = 0;  // bytes
    int64_t from = 0;
  };

  // The largest piece that can be moved at once.
  int64_t unit_of(const void* to, const void* from) const;
  template <typename Unit>
  void run_units(Stream stream, int processors, void* to, const void* from) const;
  template <typename Unit>
  void run_tiles(Stream stream, int processors, void* to, const void* from) const;

  std::vector<Axis> axes_;  // outermost first
  int64_t together_ = 1;    // bytes that lie together in both
  int64_t numel_ = 1;       // such pieces
  int64_t size_ = 1;
  int64_t dense_ = -1;  // the axis along which `from` is dense, where `to` is along another one
};

// Sets `n` elements of `size` bytes, a power of two up to 8, to the one at `element`, on the host.
void fill_elements(Stream stream, int processors, void* to, int64_t n, const void* element,
                   int64_t size);

// Writes bytes of the host, a few at best: they travel with launches.
void write_bytes(Stream stream, void* to, std::span<const char> bytes);

// A matrix that lies by itself and is a piece of each row of a whole.
struct RowPiece {
  void* data = nullptr;  // null: zeros when pieces are joined, left out when they are cut
  int64_t width = 0;     // bytes
};

void join_pieces(Stream stream, int processors, int64_t rows, std::span<const RowPiece> pieces,
                 void* whole);
void cut_pieces(Stream stream, int processors, int64_t rows, std::span<const RowPiece> pieces,
                const void* whole);

}  // namespace flotilla::cuda
