#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/device/cuda/check.h"
#include "flotilla/device/cuda/memory.h"
#include "flotilla/device/cuda/strided.h"

namespace flotilla::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksEach = 8;  // for each multiprocessor
constexpr int kTile = 32;
constexpr int kTileRows = 8;

cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.handle); }

unsigned blocks_for(int64_t n, int processors, int64_t each = kThreads) {
  return static_cast<unsigned>(
      std::clamp<int64_t>((n + each - 1) / each, 1, int64_t{processors} * kBlocksEach));
}

// Indices of 32 bits are divided several times as fast; the last step of a grid must fit, too.
constexpr int64_t kMostShortIndex = std::numeric_limits<int32_t>::max();

struct alignas(16) Unit16 {
  uint64_t half[2];
};

// Calls f with a number of a type of `unit` bytes.
template <typename F>
void with_unit(int64_t unit, F&& f) {
  switch (unit) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Unit16{});
  }
}

bool is_multiple(const void* address, int64_t unit) {
  return reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(unit) == 0;
}

struct Axes {
  int rank = 0;
  int64_t extent[StridedCopy::kMostAxes + 1] = {};
  int64_t to[StridedCopy::kMostAxes + 1] = {};
  int64_t from[StridedCopy::kMostAxes + 1] = {};

  void add(int64_t axis_extent, int64_t axis_to, int64_t axis_from) {
    extent[rank] = axis_extent;
    to[rank] = axis_to;
    from[rank++] = axis_from;
  }
  // Moves both addresses to element `i` of a walk.
  template <typename Index>
  __device__ void go_to(Index i, char*& t, const char*& f) const {
    for (int a = rank - 1; a >= 0; --a) {
      const auto n = static_cast<Index>(extent[a]);
      const Index rest = i / n;
      const auto at = static_cast<int64_t>(i - rest * n);
      t += at * to[a];
      f += at * from[a];
      i = rest;
    }
  }
};

template <typename Unit, typename Index>
__global__ void __launch_bounds__(kThreads)
    copy_units(Index n, const Axes axes, char* to, const char* from) {
  const Index stride = static_cast<Index>(gridDim.x) * kThreads;
  for (Index i = static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += stride) {
    char* t = to;
    const char* f = from;
    axes.go_to(i, t, f);
    *reinterpret_cast<Unit*>(t) = *reinterpret_cast<const Unit*>(f);
  }
}

// One axis of a tile: how far apart its elements lie.
struct Line {
  int64_t extent, to, from;
};

// `from` is dense along `row`, `to` along `column`: tiles go through shared memory, so that both
// are moved in whole lines.
template <typename Unit>
__global__ void __launch_bounds__(kThreads)
    copy_tiles(int64_t tiles, const Line row, const Line column, const Axes outer, char* to,
               const char* from) {
  __shared__ Unit tile[kTile][kTile + 1];
  const int64_t across = (column.extent + kTile - 1) / kTile;
  const int64_t down = (row.extent + kTile - 1) / kTile;
  for (int64_t i = blockIdx.x; i < tiles; i += gridDim.x) {
    const int64_t first_column = i % across * kTile, first_row = i / across % down * kTile;
    char* t = to;
    const char* f = from;
    outer.go_to(i / (across * down), t, f);
    for (int k = static_cast<int>(threadIdx.y); k < kTile; k += kTileRows) {
      const int64_t r = first_row + threadIdx.x, c = first_column + k;
      if (r < row.extent && c < column.extent) {
        tile[k][threadIdx.x] = *reinterpret_cast<const Unit*>(f + r * row.from + c * column.from);
      }
    }
    __syncthreads();
    for (int k = static_cast<int>(threadIdx.y); k < kTile; k += kTileRows) {
      const int64_t r = first_row + k, c = first_column + threadIdx.x;
      if (r < row.extent && c < column.extent) {
        *reinterpret_cast<Unit*>(t + r * row.to + c * column.to) = tile[threadIdx.x][k];
      }
    }
    __syncthreads();
  }
}

template <typename Unit>
__global__ void __launch_bounds__(kThreads) fill_units(int64_t n, Unit value, Unit* to) {
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += stride) to[i] = value;
}

}  // namespace

StridedCopy::StridedCopy(const std::vector<int64_t>& extents,
                         const std::vector<int64_t>& to_strides,
                         const std::vector<int64_t>& from_strides, int64_t size)
    : together_(size), size_(size) {
  for (size_t a = 0; a < extents.size(); ++a) {
    numel_ *= extents[a];
    if (extents[a] == 1) continue;
    const Axis axis = {extents[a], to_strides[a] * size, from_strides[a] * size};
    const bool continues = !axes_.empty() && axes_.back().to == axis.to * axis.extent &&
                           axes_.back().from == axis.from * axis.extent;
    if (continues) {
      axes_.back() = {axes_.back().extent * axis.extent, axis.to, axis.from};
    } else {
      axes_.push_back(axis);
    }
  }
  if (numel_ == 0) return;
  if (!axes_.empty() && axes_.back().to == size && axes_.back().from == size) {
    together_ *= axes_.back().extent;
    numel_ /= axes_.back().extent;
    axes_.pop_back();
  }
  require(std::ssize(axes_) <= kMostAxes,
          "a box of elements is moved on a GPU along at most {} axes, but this one has {}",
          kMostAxes, axes_.size());
  // Narrow matrices gain nothing from tiles.
  constexpr int64_t kWorthTiles = 8;
  if (together_ == size && !axes_.empty() && axes_.back().to == size &&
      axes_.back().extent >= kWorthTiles) {
    for (int64_t a = 0; a + 1 < std::ssize(axes_); ++a) {
      const Axis& axis = axes_[static_cast<size_t>(a)];
      if (axis.from == size && axis.extent >= kWorthTiles) dense_ = a;
    }
  }
}

int64_t StridedCopy::unit_of(const void* to, const void* from) const {
  int64_t unit = 16;
  const auto fits = [&] {
    return together_ % unit == 0 && is_multiple(to, unit) && is_multiple(from, unit) &&
           std::all_of(axes_.begin(), axes_.end(), [unit](const Axis& axis) {
             return axis.to % unit == 0 && axis.from % unit == 0;
           });
  };
  while (unit > size_ && !fits()) unit /= 2;
  return unit;
}

template <typename Unit>
void StridedCopy::run_units(Stream stream, int processors, void* to, const void* from) const {
  constexpr int64_t kUnit = sizeof(Unit);
  Axes axes;
  for (const Axis& axis : axes_) axes.add(axis.extent, axis.to, axis.from);
  if (together_ > kUnit) axes.add(together_ / kUnit, kUnit, kUnit);
  const int64_t n = numel_ * (together_ / kUnit);
  const unsigned grid = blocks_for(n, processors);
  auto* const t = static_cast<char*>(to);
  const auto* const f = static_cast<const char*>(from);
  if (n < kMostShortIndex) {
    copy_units<Unit, uint32_t>
        <<<grid, kThreads, 0, native(stream)>>>(static_cast<uint32_t>(n), axes, t, f);
  } else {
    copy_units<Unit, uint64_t>
        <<<grid, kThreads, 0, native(stream)>>>(static_cast<uint64_t>(n), axes, t, f);
  }
}

template <typename Unit>
void StridedCopy::run_tiles(Stream stream, int processors, void* to, const void* from) const {
  Axes outer;
  const Axis& dense = axes_[static_cast<size_t>(dense_)];
  const Axis& last = axes_.back();
  for (size_t a = 0; a + 1 < axes_.size(); ++a) {
    if (std::cmp_not_equal(a, dense_)) outer.add(axes_[a].extent, axes_[a].to, axes_[a].from);
  }
  const Line row = {dense.extent, dense.to, dense.from};
  const Line column = {last.extent, last.to, last.from};
  const int64_t tiles = numel_ / dense.extent / last.extent * ((row.extent + kTile - 1) / kTile) *
                        ((column.extent + kTile - 1) / kTile);
  copy_tiles<Unit><<<blocks_for(tiles, processors, 1), dim3(kTile, kTileRows), 0, native(stream)>>>(
      tiles, row, column, outer, static_cast<char*>(to), static_cast<const char*>(from));
}

void StridedCopy::run(Stream stream, int processors, void* to, const void* from) const {
  if (numel_ == 0) return;
  if (axes_.empty()) return copy(to, from, together_, stream);
  if (dense_ >= 0) {
    with_unit(size_, [&](auto unit) { run_tiles<decltype(unit)>(stream, processors, to, from); });
  } else {
    with_unit(unit_of(to, from),
              [&](auto unit) { run_units<decltype(unit)>(stream, processors, to, from); });
  }
  check(cudaGetLastError(), "move {} pieces of {} bytes", numel_, together_);
}

void fill_elements(Stream stream, int processors, void* to, int64_t n, const void* element,
                   int64_t size) {
  if (n == 0) return;
  uint64_t bits = 0;
  std::memcpy(&bits, element, static_cast<size_t>(size));
  if (bits == 0 || size == 1) {
    return fill(to, static_cast<uint8_t>(bits), n * size, stream);
  }
  with_unit(size, [&](auto unit) {
    using Unit = decltype(unit);
    Unit value;
    std::memcpy(&value, element, std::min(sizeof(Unit), static_cast<size_t>(size)));
    fill_units<<<blocks_for(n, processors), kThreads, 0, native(stream)>>>(n, value,
                                                                           static_cast<Unit*>(to));
  });
  check(cudaGetLastError(), "fill {} elements", n);
}

namespace {

struct SomeBytes {
  static constexpr size_t kMost = 2048;
  char byte[kMost];
};

__global__ void __launch_bounds__(kThreads) write_some(int count, const SomeBytes from, char* to) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) to[i] = from.byte[i];
}

}  // namespace

void write_bytes(Stream stream, void* to, std::span<const char> bytes) {
  for (size_t begin = 0; begin < bytes.size(); begin += SomeBytes::kMost) {
    const std::span<const char> part =
        bytes.subspan(begin, std::min(SomeBytes::kMost, bytes.size() - begin));
    SomeBytes some = {};
    std::memcpy(some.byte, part.data(), part.size());
    write_some<<<1, kThreads, 0, native(stream)>>>(static_cast<int>(part.size()), some,
                                                   static_cast<char*>(to) + begin);
  }
  check(cudaGetLastError(), "write {} bytes", bytes.size());
}

// ---- Pieces of rows -----------------------------------------------------------------------------

namespace {

// Some adjacent pieces; all numbers are units.
struct PieceList {
  static constexpr int kMost = 64;

  int count = 0;
  int64_t first = 0;              // where the first one begins in a row of the whole
  int64_t total = 0;              // in a row of the whole
  int64_t begin[kMost + 1] = {};  // of each piece, from `first` on
  void* data[kMost] = {};

  // The piece that holds column `c`.
  __device__ int piece_at(int64_t c) const {
    int low = 0, high = count;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (begin[middle] <= c ? low : high) = middle;
    }
    return low;
  }
};

template <bool kJoin, typename Unit, typename Index>
__global__ void __launch_bounds__(kThreads)
    move_pieces(Index n, const PieceList list, Unit* whole) {
  const auto columns = static_cast<Index>(list.begin[list.count]);
  const Index stride = static_cast<Index>(gridDim.x) * kThreads;
  for (Index i = static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += stride) {
    const Index row_of = i / columns;
    const auto row = static_cast<int64_t>(row_of);
    const auto column = static_cast<int64_t>(i - row_of * columns);
    const int p = list.piece_at(column);
    Unit* const piece = static_cast<Unit*>(list.data[p]);
    const int64_t width = list.begin[p + 1] - list.begin[p];
    const int64_t in_piece = row * width + column - list.begin[p];
    const int64_t in_whole = row * list.total + list.first + column;
    if (kJoin) {
      whole[in_whole] = piece == nullptr ? Unit{} : piece[in_piece];
    } else if (piece != nullptr) {
      piece[in_piece] = whole[in_whole];
    }
  }
}

template <bool kJoin>
void move_all(Stream stream, int processors, int64_t rows, std::span<const RowPiece> pieces,
              void* whole) {
  int64_t unit = 16, total = 0;
  const auto fits = [&] {
    return is_multiple(whole, unit) &&
           std::all_of(pieces.begin(), pieces.end(), [unit](const RowPiece& piece) {
             return piece.width % unit == 0 && is_multiple(piece.data, unit);
           });
  };
  while (unit > 1 && !fits()) unit /= 2;
  for (const RowPiece& piece : pieces) total += piece.width / unit;
  PieceList list{.total = total};
  const auto launch = [&] {
    const int64_t n = rows * list.begin[list.count];
    if (n > 0) {
      with_unit(unit, [&](auto kind) {
        using Unit = decltype(kind);
        const unsigned grid = blocks_for(n, processors);
        if (n < kMostShortIndex) {
          move_pieces<kJoin><<<grid, kThreads, 0, native(stream)>>>(static_cast<uint32_t>(n), list,
                                                                    static_cast<Unit*>(whole));
        } else {
          move_pieces<kJoin><<<grid, kThreads, 0, native(stream)>>>(static_cast<uint64_t>(n), list,
                                                                    static_cast<Unit*>(whole));
        }
      });
      check(cudaGetLastError(), "move {} pieces of {} rows", list.count, rows);
    }
    list.first += list.begin[list.count];
    list.count = 0;
  };
  for (const RowPiece& piece : pieces) {
    if (piece.width == 0) continue;  // no column would be found in it
    list.data[list.count] = piece.data;
    list.begin[list.count + 1] = list.begin[list.count] + piece.width / unit;
    if (++list.count == PieceList::kMost) launch();
  }
  if (list.count > 0) launch();
}

}  // namespace

void join_pieces(Stream stream, int processors, int64_t rows, std::span<const RowPiece> pieces,
                 void* whole) {
  move_all<true>(stream, processors, rows, pieces, whole);
}

void cut_pieces(Stream stream, int processors, int64_t rows, std::span<const RowPiece> pieces,
                const void* whole) {
  move_all<false>(stream, processors, rows, pieces, const_cast<void*>(whole));
}

}  // namespace flotilla::cuda
