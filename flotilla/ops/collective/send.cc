// flotilla/ops/collective/send.cc
//
// From process to process: send_v2 and recv_v2 between two, alltoall from each to each its part
// along the first axis.

#include "flotilla/ops/collective/channel.h"
#include "flotilla/ops/collective/collective.h"
#include "flotilla/ops/tensor/move.h"

namespace flotilla::ops {
namespace {

using comm::Group;

int peer_of(const PrepareContext& c) {
  const int64_t peer = c.attr<int64_t>("peer");
  require(!is_alone(c), "{} needs rank {}, but this process is alone", c.op().type(), peer);
  return static_cast<int>(peer);
}

Step send(PrepareContext& c) {
  return [channel = Channel(c), peer = peer_of(c), x = c.in_bytes("X"),
          count = c.shape("X").numel(), dtype = c.dtype("X")] {
    channel.run([&](Group& group) { group.send(x.data(), count, dtype, peer); });
  };
}

Step recv(PrepareContext& c) {
  return [channel = Channel(c), peer = peer_of(c), out = c.out_bytes("Out"),
          count = c.shape("Out").numel(), dtype = c.dtype("Out")] {
    channel.run([&](Group& group) { group.recv(out.data(), count, dtype, peer); });
  };
}

void infer_recv(InferContext& c) {
  const Shape shape(c.attr<std::vector<int64_t>>("out_shape"));
  require(shape.known(), "out_shape of recv_v2 must be known, but is {}", shape);
  c.out("Out") = VarMeta::tensor(from_paddle(static_cast<int>(c.attr<int64_t>("dtype"))), shape);
}

Step all_to_all(PrepareContext& c) {
  const Channel channel(c);
  if (channel.alone()) return identity(c);
  const int64_t rows = c.shape("X").rank() > 0 ? c.shape("X")[0] : 1;
  return [channel, rows, x = c.in_bytes("X"), out = c.out_bytes("Out"),
          count = c.shape("X").numel(), dtype = c.dtype("X")] {
    channel.run([&](Group& group) {
      require(rows % group.size() == 0, "{} rows of X cannot be shared out to {} ranks evenly",
              rows, group.size());
      group.all_to_all(x.data(), out.data(), count / group.size(), dtype);
    });
  };
}

const AttrSpec kPeer = {"peer", 0, "the rank on the other side"};
const AttrSpec kDynamic = {"dynamic_shape", false, "must be false"};

const OpDef& send_v2 =
    define_op({.type = "send_v2",
               .doc = "Sends X to another process, which receives it with recv_v2.",
               .inputs = {{.name = "X", .doc = "any tensor"}},
               .attrs = {kRingId, kUseCalcStream, kPeer, kDynamic},
               .infer =
                   [](InferContext& c) {
                     require(c.in("X").kind == VarKind::kTensor,
                             "send_v2 takes tensors, but X is a {}", name_of(c.in("X").kind));
                   },
               .kernels = every_dtype(send),
               .side_effect = true});

const OpDef& recv_v2 =
    define_op({.type = "recv_v2",
               .doc = "Out is what another process sends with send_v2.",
               .outputs = {{.name = "Out", .doc = "of shape out_shape"}},
               .attrs = {kRingId,
                         kUseCalcStream,
                         kPeer,
                         kDynamic,
                         {"out_shape", std::vector<int32_t>{}, "what is sent has this shape"},
                         {"dtype", 5, "Paddle's number of its type"}},
               .infer = infer_recv,
               .kernels = every_dtype(recv),
               .side_effect = true});

const OpDef& alltoall =
    define_collective({.type = "alltoall",
                       .doc = "Part r of X goes to rank r; part r of Out comes from it.",
                       .attrs = {kRingId, kUseCalcStream},
                       .kernels = every_dtype(all_to_all)});

}  // namespace
}  // namespace flotilla::ops
