// flotilla/ops/collective/share.cc
//
// Parts of tensors that go from process to process: c_broadcast and broadcast from one to all,
// c_allgather from all to all, c_scatter from one to each its part, c_reducescatter the part of the
// sum. Parts lie along the first axis, in the order of ranks.

#include "flotilla/op/grad_context.h"
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

void infer_part(InferContext& c) {
  const int64_t ranks = ranks_of(c);
  VarMeta out = VarMeta::tensor(c.dtype("X"), c.in("X").shape);
  require(out.shape[0] < 0 || out.shape[0] % ranks == 0,
          "the first axis of X must be a multiple of nranks, {}, but X has shape {}", ranks,
          out.shape);
  if (out.shape[0] >= 0) out.shape[0] /= ranks;
  c.out("Out") = std::move(out);
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

// The gradient of gathering is the sum of the parts, and the other way round.
void emit_grad(GradContext& g, const char* type) {
  const std::string dout = g.output_grad("Out"), dx = g.input_grad("X");
  if (dx.empty()) return;
  Attrs attrs;
  for (const char* name : {"ring_id", "use_calc_stream", "nranks"}) {
    if (g.op().attrs().contains(name)) attrs[name] = g.op().attrs().at(name);
  }
  g.emit(type, {{"X", {dout}}}, {{"Out", {dx}}}, std::move(attrs));
}

const AttrSpec kRoot = {"root", 0, "whose X is handed out"};
const AttrSpec kRanks = {"nranks", 1, "members of the group"};

const OpDef& c_broadcast = define_collective({.type = "c_broadcast",
                                              .doc = "Out of every process is the X of one.",
                                              .attrs = {kRingId, kUseCalcStream, kRoot},
                                              .kernels = every_dtype(broadcast)});

const OpDef& legacy_broadcast =
    define_collective({.type = "broadcast",
                       .doc = "c_broadcast by its older name.",
                       .attrs = {kRingId,
                                 {"use_calc_stream", true, "false: may go on beside the program"},
                                 kRoot,
                                 {"sync_mode", false, "a hint of Paddle's"}},
                       .kernels = every_dtype(broadcast)});

const OpDef& c_allgather = define_collective(
    {.type = "c_allgather",
     .doc = "Out holds the X of all processes, one behind the other along the first axis.",
     .attrs = {kRingId, kUseCalcStream, kRanks},
     .kernels = every_dtype(all_gather),
     .infer = infer_gather,
     .grad = custom_grad([](GradContext& g) { emit_grad(g, "c_reducescatter"); })});

const OpDef& c_reducescatter = define_collective(
    {.type = "c_reducescatter",
     .doc = "Out is this process' part of the sum of all X, along the first axis.",
     .attrs = {kRingId, kUseCalcStream, kRanks},
     .kernels = reducible_dtypes(reduce_scatter),
     .infer = infer_part,
     .grad = custom_grad([](GradContext& g) { emit_grad(g, "c_allgather"); })});

const OpDef& c_scatter =
    define_collective({.type = "c_scatter",
                       .doc = "Out is this process' part of the X of one, along the first axis.",
                       .attrs = {kRingId, kUseCalcStream, kRanks, kRoot},
                       .kernels = every_dtype(scatter),
                       .infer = infer_part});

}  // namespace
}  // namespace flotilla::ops
