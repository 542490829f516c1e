// flotilla/ops/common/sequences.h
//
// Where the sequences of a tensor's rows begin and end in this run.

#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/infer.h"

namespace flotilla::ops {

class Sequences {
 public:
  Sequences(PrepareContext& c, std::string_view slot, size_t i = 0)
      : lod_(c.lod(slot, i)), what_(c.op().type()), slot_(slot) {}

  // Of the last level; one more than there are sequences.
  std::span<const int64_t> offsets() const { return lod().back(); }
  int64_t count() const { return std::ssize(offsets()) - 1; }
  int64_t length(int64_t s) const {
    const std::span<const int64_t> all = offsets();
    return all[static_cast<size_t>(s) + 1] - all[static_cast<size_t>(s)];
  }
  // Calls f(sequence, its first row, the row behind its last) for all in order.
  template <typename F>
  void for_each(F f) const {
    const std::span<const int64_t> rows = offsets();
    for (size_t s = 0; s + 1 < rows.size(); ++s) f(static_cast<int64_t>(s), rows[s], rows[s + 1]);
  }
  // The same on all threads; `cost` as in parallel_for.
  template <typename F>
  void parallel(int64_t cost, F f) const {
    const std::span<const int64_t> rows = offsets();
    parallel_for(count(), cost, [&](int64_t s) {
      f(s, rows[static_cast<size_t>(s)], rows[static_cast<size_t>(s) + 1]);
    });
  }
  // The levels above: sequences of sequences.
  LoD outer() const { return LoD(lod().begin(), lod().end() - 1); }
  // The levels above, and a last one that has no sequence yet.
  LoD emptied() const {
    LoD levels = outer();
    levels.push_back({0});
    return levels;
  }

 private:
  const LoD& lod() const {
    const LoD* lod = lod_.get();
    require(lod != nullptr && !lod->empty(), "{} takes sequences, but {} has no LoD", what_, slot_);
    return *lod;
  }

  LodHandle lod_;
  std::string what_;
  std::string slot_;
};

// Refuses rows without a LoD, as soon as that is known.
inline void check_sequences(const InferContext& c, std::string_view slot, size_t i = 0) {
  const VarMeta& x = c.in(slot, i);
  require(x.shape.rank() > 0, "{} takes rows, but {} has shape {}", c.op().type(), slot, x.shape);
  require(!c.running() || x.lod_level > 0, "{} takes sequences, but {} of shape {} has no LoD",
          c.op().type(), slot, x.shape);
}

// Rows of a `shape` that an op cuts itself into as many sequences as those of `x`.
inline VarMeta cut_anew(const VarMeta& x, Shape shape) {
  VarMeta out = VarMeta::tensor(x.dtype, std::move(shape));
  out.lod_level = std::max(x.lod_level, 1);
  out.sequences = x.sequences;
  out.lod_source = kOwnLod;
  return out;
}

// The shape with another number of rows.
inline Shape with_rows(Shape shape, int64_t rows) {
  shape[0] = rows;
  return shape;
}

}  // namespace flotilla::ops
