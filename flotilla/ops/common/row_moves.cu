#include <cuda_runtime.h>

#include <algorithm>

#include "flotilla/device/cuda/check.h"
#include "flotilla/ops/common/row_moves.cuh"

namespace flotilla::ops {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kBlocksEach = 8;
// Rows that one thread adds up; longer runs of one name are summed from such pieces.
constexpr int64_t kPiece = 32;

cudaStream_t native(const GpuQueue& queue) {
  return static_cast<cudaStream_t>(queue.stream.handle);
}

unsigned blocks_for(const GpuQueue& queue, int64_t n) {
  return static_cast<unsigned>(
      std::clamp<int64_t>((n + kThreads - 1) / kThreads, 1, queue.processors * kBlocksEach));
}

__device__ int64_t first_index() { return int64_t{blockIdx.x} * kThreads + threadIdx.x; }
__device__ int64_t index_stride() { return int64_t{gridDim.x} * kThreads; }

struct alignas(16) Unit16 {
  uint64_t half[2];
};

// Calls f with a number of the largest type that divides all that is moved.
template <typename F>
void with_unit(int64_t bytes, const void* whole, const void* list, const F& f) {
  const uintptr_t all = static_cast<uintptr_t>(bytes) | reinterpret_cast<uintptr_t>(whole) |
                        reinterpret_cast<uintptr_t>(list);
  if (all % 16 == 0) return f(Unit16{});
  if (all % 8 == 0) return f(uint64_t{});
  if (all % 4 == 0) return f(uint32_t{});
  if (all % 2 == 0) return f(uint16_t{});
  f(uint8_t{});
}

// In units from here on: widths of names and places, too.
template <typename Unit>
__global__ void __launch_bounds__(kThreads)
    take_units(int64_t n, const RowNames names, const Numbers numbers, const ListPlaces places,
               const Unit* whole, Unit* list) {
  for (int64_t i = first_index(); i < n; i += index_stride()) {
    const int64_t entry = i / names.width, column = i - entry * names.width;
    const int64_t group = entry / names.count, place = entry - group * names.count;
    const int64_t row = names.of(numbers, place);
    const int64_t to = places.of(group, place, names.width) + column;
    list[to] = row < 0 ? Unit{} : whole[(group * names.rows + row) * names.width + column];
  }
}

template <typename Unit>
__global__ void __launch_bounds__(kThreads)
    clear_units(int64_t n, const RowNames names, const Numbers numbers, Unit* whole) {
  for (int64_t i = first_index(); i < n; i += index_stride()) {
    const int64_t entry = i / names.width, column = i - entry * names.width;
    const int64_t group = entry / names.count;
    const int64_t row = names.of(numbers, entry - group * names.count);
    if (row >= 0) whole[(group * names.rows + row) * names.width + column] = Unit{};
  }
}

// REQUIRES: one group
template <typename Unit>
__global__ void __launch_bounds__(kThreads)
    list_units(int64_t n, const RowNames names, const Numbers numbers, const ListPlaces places,
               const Unit* list, int64_t* rows, Unit* values) {
  for (int64_t i = first_index(); i < n; i += index_stride()) {
    const int64_t entry = i / names.width, column = i - entry * names.width;
    const int64_t row = numbers[entry];
    const bool padding = row == names.padding && names.padding != -1;
    if (column == 0) rows[entry] = row;
    values[i] = padding ? Unit{} : list[places.of(0, entry, names.width) + column];
  }
}

// Names in their order (device/cuda/row_order.h). What names no row comes last.
struct SortedNames {
  const uint64_t* keys;
  int position_bits;

  __device__ int64_t row(int64_t k) const { return static_cast<int64_t>(keys[k] >> position_bits); }
  // Where it stands in the list.
  __device__ int64_t place(int64_t k) const {
    return static_cast<int64_t>(keys[k] & ((uint64_t{1} << position_bits) - 1));
  }
};

__global__ void __launch_bounds__(kThreads)
    name_rows(const RowNames names, const Numbers numbers, int64_t* rows) {
  for (int64_t i = first_index(); i < names.count; i += index_stride()) {
    rows[i] = names.of(numbers, i);
  }
}

// A piece of the sorted rows, in one group and one column.
struct PieceOfRun {
  int64_t group, piece, column, begin, end;

  __device__ PieceOfRun(int64_t i, const RowNames& names, int64_t pieces) {
    column = i % names.width;
    const int64_t rest = i / names.width;
    piece = rest % pieces;
    group = rest / pieces;
    begin = piece * kPiece;
    end = min(begin + kPiece, names.count);
  }
};

template <typename T>
__device__ void put_sum(T* to, T sum, bool add) {
  *to = add ? *to + sum : sum;
}

// Sums runs of one name that lie within a piece. Of a run that goes on beyond it, the sum of its
// part goes to `heads` where the run began before the piece, and otherwise to `tails`.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    sum_pieces(int64_t n, int64_t pieces, const RowNames names, const ListPlaces places,
               const SortedNames sorted, const T* list, T* whole, bool add, T* heads, T* tails) {
  for (int64_t i = first_index(); i < n; i += index_stride()) {
    const PieceOfRun p(i, names, pieces);
    for (int64_t k = p.begin; k < p.end;) {
      const int64_t start = k, key = sorted.row(k);
      if (key >= names.rows) break;
      T sum{0};
      for (; k < p.end && sorted.row(k) == key; ++k) {
        sum += list[places.of(p.group, sorted.place(k), names.width) + p.column];
      }
      const bool began_before = start == p.begin && start > 0 && sorted.row(start - 1) == key;
      const bool goes_on = k == p.end && k < names.count && sorted.row(k) == key;
      if (began_before) {
        heads[i] = sum;
      } else if (goes_on) {
        tails[i] = sum;
      } else {
        put_sum(whole + (p.group * names.rows + key) * names.width + p.column, sum, add);
      }
    }
  }
}

// Runs of several pieces, by the piece in which they begin.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    sum_long_runs(int64_t n, int64_t pieces, const RowNames names, const SortedNames sorted,
                  T* whole, bool add, const T* heads, const T* tails) {
  for (int64_t i = first_index(); i < n; i += index_stride()) {
    const PieceOfRun p(i, names, pieces);
    const int64_t key = sorted.row(p.end - 1);
    const bool goes_on = p.end < names.count && sorted.row(p.end) == key && key < names.rows;
    const bool began_before = p.begin > 0 && sorted.row(p.begin - 1) == key;
    if (!goes_on || began_before) continue;
    T sum = tails[i];
    int64_t at = i;
    for (int64_t next = p.end; next < names.count && sorted.row(next) == key; next += kPiece) {
      at += names.width;
      sum += heads[at];
    }
    put_sum(whole + (p.group * names.rows + key) * names.width + p.column, sum, add);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    put_last(int64_t n, const RowNames names, const ListPlaces places, const SortedNames sorted,
             const T* list, T* whole) {
  for (int64_t i = first_index(); i < n; i += index_stride()) {
    const int64_t entry = i / names.width, column = i - entry * names.width;
    const int64_t group = entry / names.count, k = entry - group * names.count;
    const int64_t key = sorted.row(k);
    const bool last = k + 1 == names.count || sorted.row(k + 1) != key;
    if (!last || key >= names.rows) continue;
    whole[(group * names.rows + key) * names.width + column] =
        list[places.of(group, sorted.place(k), names.width) + column];
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    clear_but_last(int64_t n, const RowNames names, const ListPlaces places,
                   const SortedNames sorted, T* list) {
  for (int64_t i = first_index(); i < n; i += index_stride()) {
    const int64_t entry = i / names.width, column = i - entry * names.width;
    const int64_t group = entry / names.count, k = entry - group * names.count;
    const bool last = k + 1 == names.count || sorted.row(k + 1) != sorted.row(k);
    if (last || sorted.row(k) >= names.rows) continue;
    list[places.of(group, sorted.place(k), names.width) + column] = T{0};
  }
}

int64_t elements_of(const RowNames& names) { return names.groups * names.count * names.width; }

// Names and places counted in the units that are moved.
template <typename Unit>
struct InUnits {
  RowNames names;
  ListPlaces places;
  int64_t count;  // of units

  InUnits(const RowNames& of, const ListPlaces& at, int64_t size) : names(of), places(at) {
    for (int64_t* number : {&names.width, &places.stride, &places.group_stride}) {
      *number = *number * size / static_cast<int64_t>(sizeof(Unit));
    }
    count = elements_of(names);
  }
};

// Of which each unit is a divisor.
int64_t bytes_together(const RowNames& names, const ListPlaces& places, int64_t size) {
  return (names.width | places.stride | places.group_stride) * size;
}

}  // namespace

void take_named(const GpuQueue& queue, const RowNames& names, const Numbers& numbers,
                const ListPlaces& places, const void* whole, void* list, int64_t size) {
  if (elements_of(names) == 0) return;
  with_unit(bytes_together(names, places, size), whole, list, [&](auto kind) {
    using Unit = decltype(kind);
    const InUnits<Unit> in(names, places, size);
    take_units<<<blocks_for(queue, in.count), kThreads, 0, native(queue)>>>(
        in.count, in.names, numbers, in.places, static_cast<const Unit*>(whole),
        static_cast<Unit*>(list));
  });
  cuda::check(cudaGetLastError(), "take {} rows", names.groups * names.count);
}

void list_named(const GpuQueue& queue, const RowNames& names, const Numbers& numbers,
                const ListPlaces& places, const void* list, int64_t* rows, void* values,
                int64_t size) {
  if (elements_of(names) == 0) return;
  with_unit(bytes_together(names, places, size), list, values, [&](auto kind) {
    using Unit = decltype(kind);
    const InUnits<Unit> in(names, places, size);
    list_units<<<blocks_for(queue, in.count), kThreads, 0, native(queue)>>>(
        in.count, in.names, numbers, in.places, static_cast<const Unit*>(list), rows,
        static_cast<Unit*>(values));
  });
  cuda::check(cudaGetLastError(), "list {} rows", names.count);
}

void clear_named(const GpuQueue& queue, const RowNames& names, const Numbers& numbers, void* whole,
                 int64_t size) {
  if (elements_of(names) == 0) return;
  with_unit(names.width * size, whole, nullptr, [&](auto kind) {
    using Unit = decltype(kind);
    RowNames n = names;
    n.width = names.width * size / static_cast<int64_t>(sizeof(Unit));
    const int64_t units = elements_of(n);
    clear_units<<<blocks_for(queue, units), kThreads, 0, native(queue)>>>(
        units, n, numbers, static_cast<Unit*>(whole));
  });
  cuda::check(cudaGetLastError(), "clear {} rows", names.groups * names.count);
}

template <typename T>
RowPutter<T>::RowPutter(PrepareContext& c, const RowNames& names, const ListPlaces& places)
    : queue_(c),
      names_(names),
      places_(places),
      order_(cuda::RowOrder::of(names.count, names.rows)),
      rows_(c.workspace<int64_t>(names.count)),
      keys_(c.workspace<uint64_t>(names.count)),
      sorted_(c.workspace<uint64_t>(names.count)),
      sorting_(c.workspace<char>(order_.workspace_bytes())),
      heads_(c.workspace<T>(names.groups * pieces() * names.width)),
      tails_(c.workspace<T>(names.groups * pieces() * names.width)) {}

template <typename T>
int64_t RowPutter<T>::pieces() const {
  return (names_.count + kPiece - 1) / kPiece;
}

template <typename T>
void RowPutter<T>::sort(const Numbers& numbers) const {
  name_rows<<<blocks_for(queue_, names_.count), kThreads, 0, native(queue_)>>>(names_, numbers,
                                                                               rows_.data());
  cuda::check(cudaGetLastError(), "read {} numbers of rows", names_.count);
  order_.sort(queue_.stream, rows_.data(), keys_.data(), sorted_.data(), sorting_.data());
}

template <typename T>
void RowPutter<T>::run(const Numbers& numbers, const T* list, T* whole, Put how) const {
  if (elements_of(names_) == 0) return;
  sort(numbers);
  const SortedNames sorted = {sorted_.data(), order_.position_bits};
  if (how == Put::kReplace) {
    const int64_t n = elements_of(names_);
    put_last<<<blocks_for(queue_, n), kThreads, 0, native(queue_)>>>(n, names_, places_, sorted,
                                                                     list, whole);
  } else {
    const int64_t n = names_.groups * pieces() * names_.width;
    const bool add = how == Put::kAdd;
    sum_pieces<<<blocks_for(queue_, n), kThreads, 0, native(queue_)>>>(
        n, pieces(), names_, places_, sorted, list, whole, add, heads_.data(), tails_.data());
    sum_long_runs<<<blocks_for(queue_, n), kThreads, 0, native(queue_)>>>(
        n, pieces(), names_, sorted, whole, add, static_cast<const T*>(heads_.data()),
        static_cast<const T*>(tails_.data()));
  }
  cuda::check(cudaGetLastError(), "put {} rows", names_.groups * names_.count);
}

template <typename T>
void RowPutter<T>::clear_replaced(const Numbers& numbers, T* list) const {
  const int64_t n = elements_of(names_);
  if (n == 0) return;
  sort(numbers);
  const SortedNames sorted = {sorted_.data(), order_.position_bits};
  clear_but_last<<<blocks_for(queue_, n), kThreads, 0, native(queue_)>>>(n, names_, places_, sorted,
                                                                         list);
  cuda::check(cudaGetLastError(), "clear rows among {}", names_.count);
}

template class RowPutter<float>;
template class RowPutter<double>;
template class RowPutter<int32_t>;
template class RowPutter<int64_t>;

}  // namespace flotilla::ops
