// flotilla/ops/collective/share.cc
//
// Parts of tensors that go from process to process: c_broadcast and broadcast from one to all,
// c_allgather from all to all, c_scatter from one to each its part, c_reducescatter the part of the
// sum. Parts lie along the first axis, in the order of ranks; those of c_concat and c_split, which
// gather columns and keep some of them, along the last.

#include <cstring>

#include "flotilla/ops/collective/bucket.h"
#include "flotilla/ops/collective/channel.h"
#include "flotilla/ops/collective/collective.h"
#include "flotilla/ops/tensor/move.h"

namespace flotilla::ops {
namespace {

using comm::Group;

Step broadcast(PrepareContext& c) {
  const Channel channel(c);
  if (channel.alone()) return identity(c);
  const int root = static_cast<int>(c.attr<int64_t>("root"));
  const auto bucket = std::make_shared<Bucket>(c);
  return here_or_beside(c, channel, bucket->bytes(),
                        [bucket, root](Group& group) { bucket->broadcast(group, root); });
}

int64_t ranks_of(const InferContext& c) {
  const int64_t ranks = c.attr<int64_t>("nranks");
  require(ranks >= 1, "nranks of {} must be 1 or more, but is {}", c.op().type(), ranks);
  require(c.in("X").kind == VarKind::kTensor && c.in("X").shape.rank() >= 1,
          "X of {} must be a tensor with at least one axis, but is a {} of shape {}", c.op().type(),
          name_of(c.in("X").kind), c.in("X").shape);
  return ranks;
}

void infer_gather(InferContext& c) {
  const int64_t ranks = ranks_of(c);
  VarMeta out = VarMeta::tensor(c.dtype("X"), c.in("X").shape);
  out.shape[0] = checked_multiple(out.shape[0], ranks);
  c.out("Out") = std::move(out);
}

void infer_concat(InferContext& c) {
  const int64_t ranks = ranks_of(c);
  VarMeta out = like(c.in("X"));
  int64_t& columns = out.shape[out.shape.rank() - 1];
  columns = checked_multiple(columns, ranks);
  c.out("Out") = std::move(out);
}

void infer_split(InferContext& c) {
  const int64_t ranks = ranks_of(c), rank = c.attr<int64_t>("rank");
  require(0 <= rank && rank < ranks, "rank must lie in [0, {}), but is {}", ranks, rank);
  VarMeta out = like(c.in("X"));
  int64_t& columns = out.shape[out.shape.rank() - 1];
  require(columns < 0 || columns % ranks == 0,
          "the last axis of X must be a multiple of nranks, {}, but X has shape {}", ranks,
          c.in("X").shape);
  if (columns >= 0) columns /= ranks;
  c.out("Out") = std::move(out);
}

void infer_part(InferContext& c) {
  const int64_t ranks = ranks_of(c);
  VarMeta out = VarMeta::tensor(c.dtype("X"), c.in("X").shape);
  require(out.shape[0] < 0 || out.shape[0] % ranks == 0,
          "the first axis of X must be a multiple of nranks, {}, but X has shape {}", ranks,
          out.shape);
  if (out.shape[0] >= 0) out.shape[0] /= ranks;
  c.out("Out") = std::move(out);
}

void infer_parts(InferContext& c) {
  const int64_t ranks = ranks_of(c), count = c.in("X").shape.numel();
  require(count < 0 || count % ranks == 0,
          "the elements of X must be a multiple of nranks, {}, but X has shape {}", ranks,
          c.in("X").shape);
  c.out("Out") = like(c.in("X"));
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
    channel.run([&](Group& group) {
      require(group.size() == ranks, "nranks is {}, but the group has {} members", ranks,
              group.size());
      work(group, x.data(), out.data(), count);
    });
  };
}

Step all_gather(PrepareContext& c) {
  return on_parts(c, "X",
                  [dtype = c.dtype("X")](Group& group, const char* x, char* out, int64_t count) {
                    group.all_gather(x, out, count, dtype);
                  });
}

// Each process gives its part of X, and gets the others'.
Step gather_parts(PrepareContext& c) {
  const int64_t bytes = c.shape("X").numel() * size_of(c.dtype("X")) / c.attr<int64_t>("nranks");
  return on_parts(c, "X",
                  [bytes, dtype = c.dtype("X"), own = c.workspace(bytes)](
                      Group& group, const char* x, char* out, int64_t count) {
                    copy_bytes(own.data(), x + group.rank() * bytes, bytes);
                    group.all_gather(own.data(), out, count / group.size(), dtype);
                  });
}

Step reduce_scatter(PrepareContext& c) {
  return on_parts(c, "Out",
                  [dtype = c.dtype("X")](Group& group, const char* x, char* out, int64_t count) {
                    group.reduce_scatter(x, out, count, dtype, comm::Reduce::kSum);
                  });
}

Step scatter(PrepareContext& c) {
  const int root = static_cast<int>(c.attr<int64_t>("root"));
  return on_parts(
      c, "Out",
      [root, dtype = c.dtype("X")](Group& group, const char* x, char* out, int64_t count) {
        group.scatter(x, out, count, dtype, root);
      });
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

Step concat(PrepareContext& c) {
  const Columns columns(c, "X");
  return on_parts(c, "X",
                  [columns, dtype = c.dtype("X"),
                   parts = c.workspace(columns.rows * columns.part * columns.ranks)](
                      Group& group, const char* x, char* out, int64_t count) {
                    group.all_gather(x, parts.data(), count, dtype);
                    for (int64_t r = 0; r < columns.ranks; ++r) {
                      columns.put(parts.data() + r * columns.rows * columns.part, out, r);
                    }
                  });
}

// Nobody else is asked.
Step split(PrepareContext& c) {
  return [columns = Columns(c, "Out"), rank = c.attr<int64_t>("rank"), x = c.in_bytes("X"),
          out = c.out_bytes("Out")] { columns.take(x.data(), out.data(), rank); };
}

// The gradient of gathering is the sum of the parts, and the other way round.
void gather_grad(GradContext& g) { emit_collective(g, "c_reducescatter"); }
void part_grad(GradContext& g) { emit_collective(g, "c_allgather"); }

void concat_grad(GradContext& g) { emit_collective(g, "c_split"); }
void split_grad(GradContext& g) { emit_collective(g, "c_concat"); }

const AttrSpec kRoot = {"root", 0, "whose X is handed out"};
const AttrSpec kRanks = {"nranks", 1, "members of the group"};
const AttrSpec kRank = {"rank", 0, "the place of this process in it"};

const OpDef& c_broadcast = define_collective({.type = "c_broadcast",
                                              .doc = "Out of every process is the X of one.",
                                              .attrs = {kRingId, kUseCalcStream, kRoot},
                                              .kernels = every_dtype(broadcast)});

const OpDef& legacy_broadcast = define_collective(
    {.type = "broadcast",
     .doc = "c_broadcast by its older name.",
     .attrs = {kRingId, kAtOnce, kRoot, {"sync_mode", false, "a hint of Paddle's"}},
     .kernels = every_dtype(broadcast)});

const OpDef& c_allgather = define_collective(
    {.type = "c_allgather",
     .doc = "Out holds the X of all processes, one behind the other along the first axis.",
     .attrs = {kRingId, kUseCalcStream, kRanks},
     .kernels = every_dtype(all_gather),
     .infer = infer_gather,
     .grad = custom_grad(gather_grad)});

const OpDef& partial_allgather =
    define_collective({.type = "partial_allgather",
                       .doc = "Out is X, whose parts come from the processes; part r from rank r.",
                       .attrs = {kRingId, kUseCalcStream, kRanks, kRank},
                       .kernels = every_dtype(gather_parts),
                       .infer = infer_parts});

const OpDef& c_reducescatter = define_collective(
    {.type = "c_reducescatter",
     .doc = "Out is this process' part of the sum of all X, along the first axis.",
     .attrs = {kRingId, kUseCalcStream, kRanks},
     .kernels = reducible_dtypes(reduce_scatter),
     .infer = infer_part,
     .grad = custom_grad(part_grad)});

const OpDef& c_concat = define_collective(
    {.type = "c_concat",
     .doc = "Out holds the X of all processes, one beside the other along the last axis.",
     .attrs = {kRingId, kAtOnce, kRanks, kRank, kModelParallel},
     .kernels = every_dtype(concat),
     .infer = infer_concat,
     .grad = custom_grad(concat_grad)});

const OpDef& c_split =
    define_collective({.type = "c_split",
                       .doc = "Out is this process' part of X, along the last axis.",
                       .attrs = {kRingId, kUseCalcStream, kRanks, kRank, kModelParallel},
                       .kernels = every_dtype(split),
                       .infer = infer_split,
                       .grad = custom_grad(split_grad)});

const OpDef& c_scatter =
    define_collective({.type = "c_scatter",
                       .doc = "Out is this process' part of the X of one, along the first axis.",
                       .attrs = {kRingId, kUseCalcStream, kRanks, kRoot},
                       .kernels = every_dtype(scatter),
                       .infer = infer_part});

}  // namespace
}  // namespace flotilla::ops
