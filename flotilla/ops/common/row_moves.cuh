// flotilla/ops/common/row_moves.cuh
//
// Moves of named rows on a GPU. All of them only enqueue; sums are taken in an order that depends
// on the numbers and the shapes alone.

#pragma once

#include "flotilla/device/cuda/row_order.h"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/row_names.h"

namespace flotilla::ops {

inline Numbers numbers_at(const LabelsIn& labels) { return {labels.data(), labels.wide()}; }

// Where work is put.
struct GpuQueue {
  Stream stream = {};
  int processors = 1;

  explicit GpuQueue(const PrepareContext& c)
      : stream(c.around().stream), processors(c.around().gpu->info().processors) {}
};

// The list takes rows of the whole; `size`: bytes of an element.
void take_named(const GpuQueue& queue, const RowNames& names, const Numbers& numbers,
                const ListPlaces& places, const void* whole, void* list, int64_t size);

// Rows of the whole become zeros.
void clear_named(const GpuQueue& queue, const RowNames& names, const Numbers& numbers, void* whole,
                 int64_t size);

// Sparse rows from a list: all numbers, as i64, and the rows of the list behind one another, of
// which those of padding become zeros.
void list_named(const GpuQueue& queue, const RowNames& names, const Numbers& numbers,
                const ListPlaces& places, const void* list, int64_t* rows, void* values,
                int64_t size);

// Puts rows of a list into a whole. The numbers are sorted first, so that the rows of one name are
// found in their order.
template <typename T>
class RowPutter {
 public:
  RowPutter(PrepareContext& c, const RowNames& names, const ListPlaces& places);

  // Rows without a name in the list stay as they are.
  void run(const Numbers& numbers, const T* list, T* whole, Put how) const;
  // Sets rows of the list to zero that a later one of the same name replaces.
  void clear_replaced(const Numbers& numbers, T* list) const;

 private:
  // Enqueues the sort of what the numbers name.
  void sort(const Numbers& numbers) const;
  int64_t pieces() const;

  GpuQueue queue_;
  RowNames names_;
  ListPlaces places_;
  cuda::RowOrder order_;
  Out<int64_t> rows_;
  Out<uint64_t> keys_, sorted_;
  Out<char> sorting_;
  Out<T> heads_, tails_;  // sums of parts of runs
};

}  // namespace flotilla::ops
