// flotilla/kernel/handles.h
//
// How the Step of a kernel gets at memory while a plan runs: handles to cells, which a kernel asks
// for when it is prepared (kernel/prepare.h).

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "flotilla/kernel/random.h"
#include "flotilla/tensor/tensor.h"

namespace flotilla {

// Where a value lies while a plan runs. The plan owns cells; their addresses never change.
struct Cell {
  void* data = nullptr;
  const LoD* lod = nullptr;  // null: none
};

// A tensor to read, in the layout that was asked for.
template <typename T>
class In {
 public:
  In() = default;
  explicit In(const Cell* cell) : cell_(cell) {}
  const T* data() const { return static_cast<const T*>(cell_->data); }
  explicit operator bool() const { return cell_ != nullptr; }

 private:
  const Cell* cell_ = nullptr;
};

// A tensor to write: every element must be written, unless it is in place. Memory is not zeroed.
template <typename T>
class Out {
 public:
  Out() = default;
  explicit Out(const Cell* cell) : cell_(cell) {}
  T* data() const { return static_cast<T*>(cell_->data); }
  explicit operator bool() const { return cell_ != nullptr; }

 private:
  const Cell* cell_ = nullptr;
};

// Rows of a tall tensor; row numbers may repeat.
template <typename T>
struct SparseIn {
  In<int64_t> rows = {};
  In<T> value = {};
  int64_t count = 0;   // rows
  int64_t width = 0;   // elements in a row
  int64_t height = 0;  // rows of the dense tensor
};
template <typename T>
struct SparseOut {
  Out<int64_t> rows = {};
  Out<T> value = {};
  int64_t count = 0;
  int64_t width = 0;
  int64_t height = 0;
};

class PrepareHost;  // kernel/host.h

// A tensor to write whose extents the Step itself finds out: memory comes when it asks for it.
template <typename T>
class DynamicOut {
 public:
  DynamicOut() = default;
  DynamicOut(PrepareHost* host, int32_t value) : host_(host), value_(value) {}
  // Called once in each run of the Step.
  T* resize(const Shape& shape) const;

 private:
  PrepareHost* host_ = nullptr;
  int32_t value_ = -1;
};

// Sparse rows to write whose number the Step itself finds out.
template <typename T>
class DynamicSparseOut {
 public:
  DynamicSparseOut() = default;
  DynamicSparseOut(PrepareHost* host, int32_t value, Out<int64_t> rows, Out<T> elements)
      : host_(host), value_(value), rows_(rows), elements_(elements) {}
  // Called once in each run of the Step, before the memory is asked for.
  void resize(int64_t count) const;
  int64_t* rows() const { return rows_.data(); }
  T* value() const { return elements_.data(); }

 private:
  PrepareHost* host_ = nullptr;
  int32_t value_ = -1;
  Out<int64_t> rows_;
  Out<T> elements_;
};

// A variable that processes exchange: `in` before, `out` after.
struct Exchanged {
  In<char> in = {};
  Out<char> out = {};
  int64_t count = 0;  // elements, padding included
};

// The offsets of the sequences in a tensor's rows, as they are in this run.
class LodHandle {
 public:
  LodHandle() = default;
  // Of a tensor with so many rows and sequences; -1: not known.
  LodHandle(const Cell* cell, int64_t rows, int64_t sequences)
      : cell_(cell), rows_(rows), sequences_(sequences) {}
  // Null where the tensor was fed without. Refuses sequences of other rows than the tensor has, as
  // of one that only took over those of another, and another number than the kernel was made for.
  const LoD* get() const {
    const LoD* lod = cell_ == nullptr ? nullptr : cell_->lod;
    if (lod != nullptr && !lod->empty()) {
      const std::vector<int64_t>& last = lod->back();
      require(rows_ < 0 || last.back() == rows_,
              "a tensor of {} rows is given sequences that end at row {}", rows_, last.back());
      require(sequences_ < 0 || std::ssize(last) == sequences_ + 1,
              "a tensor of {} sequences is given {}", sequences_, std::ssize(last) - 1);
    }
    return lod;
  }

 private:
  const Cell* cell_ = nullptr;
  int64_t rows_ = -1;
  int64_t sequences_ = -1;
};

// The offsets of the sequences in an output's rows, which the Step itself finds out; `infer` named
// kOwnLod as their source.
class LodOut {
 public:
  LodOut() = default;
  LodOut(PrepareHost* host, int32_t value) : host_(host), value_(value) {}
  // Called once in each run of the Step.
  void set(LoD lod) const;

 private:
  PrepareHost* host_ = nullptr;
  int32_t value_ = -1;
};

// Draws a stream for one run.
class RandomSource {
 public:
  RandomSource() = default;
  RandomSource(Generator* generator, uint64_t fixed_seed)
      : generator_(generator), fixed_seed_(fixed_seed) {}
  // With a seed of its own the same stream each time: an initializer repeats. `count` tells the
  // runs of an operator apart that must not repeat (dropout).
  RandomStream draw(uint64_t count = 0) const {
    return fixed_seed_ != 0 ? RandomStream{fixed_seed_, count} : generator_->next();
  }

 private:
  Generator* generator_ = nullptr;
  uint64_t fixed_seed_ = 0;
};

}  // namespace flotilla
