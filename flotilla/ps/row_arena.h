// flotilla/ps/row_arena.h
//
// Rows of one length in large pieces of memory that ask for huge pages: a row never moves, and
// finding it is a shift, an add and a multiplication.
//
// Thread safety: none; an arena belongs to the thread that owns its shards.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flotilla::ps {

class RowArena {
 public:
  // A row has at least `row_bytes`; it starts at a multiple of 16 bytes, and at a cache line where
  // that costs little.
  explicit RowArena(size_t row_bytes);
  ~RowArena();
  RowArena(const RowArena&) = delete;
  RowArena& operator=(const RowArena&) = delete;

  // A row with any content. Refuses to go beyond 2^32 - 1 rows.
  uint32_t take();
  void give_back(uint32_t row) { free_.push_back(row); }

  std::byte* at(uint32_t row) const {
    return chunks_[row >> shift_] + static_cast<size_t>(row & mask_) * stride_;
  }

  size_t stride() const { return stride_; }
  // Memory that rows were ever handed out from.
  int64_t bytes() const { return static_cast<int64_t>(size_t{used_} * stride_); }

 private:
  void add_chunk();

  size_t stride_ = 0;
  int shift_ = 0;
  uint32_t mask_ = 0;
  uint32_t used_ = 0;  // rows ever handed out
  size_t chunk_bytes_ = 0;
  std::vector<std::byte*> chunks_;
  std::vector<uint32_t> free_;
};

}  // namespace flotilla::ps
