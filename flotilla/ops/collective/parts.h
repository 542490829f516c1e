// Collectives that move parts of tensors: along the first axis in the order of ranks, or along the
// last, column by column.

#pragma once

#include <cstring>
#include <string_view>

#include "flotilla/ops/collective/collective.h"
#include "flotilla/ops/common/channel.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {

// Refuses an X without an axis.
inline int64_t ranks_of(const InferContext& c) {
  const int64_t ranks = c.attr<int64_t>("nranks");
  require(ranks >= 1, "nranks of {} must be 1 or more, but is {}", c.op().type(), ranks);
  require(c.in("X").kind == VarKind::kTensor && c.in("X").shape.rank() >= 1,
          "X of {} must be a tensor with at least one axis, but is a {} of shape {}", c.op().type(),
          name_of(c.in("X").kind), c.in("X").shape);
  return ranks;
}

enum class Axis { kFirst, kLast };

// Out holds the X of all ranks (`kAll`), or is the part of one, along an axis. Cut along the first
// one, sequences are no longer whole.
template <Axis kAxis, bool kAll>
void infer_along(InferContext& c) {
  const int64_t ranks = ranks_of(c);
  Shape out = c.in("X").shape;
  int64_t& extent = out[kAxis == Axis::kFirst ? 0 : out.rank() - 1];
  require(kAll || extent < 0 || extent % ranks == 0,
          "the {} axis of X must be a multiple of nranks, {}, but X has shape {}",
          kAxis == Axis::kFirst ? "first" : "last", ranks, c.in("X").shape);
  extent = kAll ? checked_multiple(extent, ranks) : extent < 0 ? -1 : extent / ranks;
  c.out("Out") = kAxis == Axis::kFirst ? VarMeta::tensor(c.dtype("X"), out) : like(c.in("X"), out);
}

// work(group, x, out, elements of a part) where there are others, the identity where not.
template <typename F>
Step on_parts(PrepareContext& c, std::string_view part_slot, F work) {
  const Channel channel(c);
  const int64_t ranks = c.attr<int64_t>("nranks");
  if (channel.alone()) {
    require(ranks == 1, "{} of {} ranks was asked for, but this process is alone", c.op().type(),
            ranks);
    return identity(c);
  }
  return [channel, ranks, work, count = c.shape(part_slot).numel(), x = c.in_bytes("X"),
          out = c.out_bytes("Out")] {
    channel.run([&](comm::Group& group) {
      require(group.size() == ranks, "nranks is {}, but the group has {} members", ranks,
              group.size());
      work(group, x.data(), out.data(), count);
    });
  };
}

// Rows of bytes, and the part of each that belongs to a rank.
struct Columns {
  int64_t rows, part, ranks;

  // `slot` holds a part.
  Columns(const PrepareContext& c, std::string_view slot) : ranks(c.attr<int64_t>("nranks")) {
    const Shape& shape = c.shape(slot);
    rows = shape.numel(0, shape.rank() - 1);
    part = shape[shape.rank() - 1] * size_of(c.dtype(slot));
  }
  // Between the part of `rank`, row by row, and rows of the parts of all.
  void take(const char* all, char* to, int64_t rank) const {
    for (int64_t r = 0; r < rows; ++r) std::memcpy(to + r * part, place(all, r, rank), bytes());
  }
  void put(const char* from, char* all, int64_t rank) const {
    for (int64_t r = 0; r < rows; ++r) std::memcpy(place(all, r, rank), from + r * part, bytes());
  }

 private:
  size_t bytes() const { return static_cast<size_t>(part); }
  template <typename C>
  C* place(C* all, int64_t row, int64_t rank) const {
    return all + (row * ranks + rank) * part;
  }
};

inline const AttrSpec kRoot = {"root", 0, "whose X is handed out"};
inline const AttrSpec kRanks = {"nranks", 1, "members of the group"};
inline const AttrSpec kRank = {"rank", 0, "the place of this process in it"};

}  // namespace flotilla::ops
