// flotilla/ps/dense_table.h
//
// The part of a dense table that one server holds: a run of floats with the state of its rule, and
// one step for all of it, by the code of the optimizer ops.
//
// Thread safety: none; the thread that owns it alone may use it (see owner_of_dense).

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/ps/rule.h"
#include "flotilla/ps/sparse_part.h"
#include "flotilla/ps/table.h"

namespace flotilla::ps {

class DenseTable {
 public:
  DenseTable(const TableSpec& table, const Share& share);

  const TableSpec& spec() const { return table_; }
  const Slice& slice() const { return slice_; }
  // Which thread of `owners` owns the table.
  int owner(int owners) const {
    return static_cast<int>(table_.id % static_cast<uint32_t>(owners));
  }

  // REQUIRES: values.size() == slice().size(). A push that is not finite is refused and counted.
  void push(std::span<const float> values, const Effect& effect);

  std::span<const float> values() const { return values_; }
  // The arrays of the rule's state behind each other.
  std::span<const float> state() const { return state_; }
  int64_t pushed() const { return pushed_; }
  int64_t refused() const { return refused_; }

  // values:f32[n] state:f32[n]*
  std::vector<std::byte> save() const;
  // Takes what the bytes of another slice of the table have in common with this one.
  void load(std::span<const std::byte> bytes, const Slice& slice, uint64_t lsn);
  // Takes all of a table that is like this one.
  void take(DenseTable& other);

 private:
  const TableSpec table_;
  const Rule rule_;
  const Slice slice_;
  std::vector<float> values_;
  std::vector<float> state_;
  std::vector<float> grad_;  // workspace
  int64_t pushed_ = 0;
  int64_t refused_ = 0;
  uint64_t lsn_ = 0;  // that it was loaded with
};

}  // namespace flotilla::ps
