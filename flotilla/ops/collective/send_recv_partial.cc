// flotilla/ops/collective/send_recv_partial.cc
//
// From process to process: send_v2 and recv_v2, or partial_send and partial_recv for one of `num`
// equal parts.

#include "flotilla/ops/collective/collective.h"
#include "flotilla/ops/common/channel.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

using comm::Group;

int peer_of(const PrepareContext& c) {
  const int64_t peer = c.attr<int64_t>("peer");
  require(!is_alone(c), "{} needs rank {}, but this process is alone", c.op().type(), peer);
  return static_cast<int>(peer);
}

// What travels of a variable: all of it, or the part `id` of `num`.
struct Part {
  int64_t count = 0, offset = 0;  // elements; bytes

  Part(const PrepareContext& c, std::string_view slot) : count(c.shape(slot).numel()) {
    if (!c.op().type().starts_with("partial")) return;
    const int64_t num = c.attr<int64_t>("num"), id = c.attr<int64_t>("id");
    require(num >= 1 && 0 <= id && id < num && count % num == 0,
            "{} cannot take part {} of {} of {} elements", c.op().type(), id, num, count);
    count /= num;
    offset = id * count * size_of(c.dtype(slot));
  }
};

Step send(PrepareContext& c) {
  return [channel = Channel(c), peer = peer_of(c), part = Part(c, "X"), x = c.in_bytes("X"),
          dtype = c.dtype("X")] {
    channel.run([&](Group& group) { group.send(x.data() + part.offset, part.count, dtype, peer); });
  };
}

// The rest of Out is left alone.
Step recv(PrepareContext& c) {
  return [channel = Channel(c), peer = peer_of(c), part = Part(c, "Out"), out = c.out_bytes("Out"),
          dtype = c.dtype("Out")] {
    channel.run(
        [&](Group& group) { group.recv(out.data() + part.offset, part.count, dtype, peer); });
  };
}

void infer_recv(InferContext& c) {
  const Shape shape(c.attr<std::vector<int64_t>>("out_shape"));
  require(shape.known(), "out_shape of {} must be known, but is {}", c.op().type(), shape);
  c.out("Out") = VarMeta::tensor(from_paddle(static_cast<int>(c.attr<int64_t>("dtype"))), shape);
}

const AttrSpec kPeer = {"peer", 0, "the rank on the other side"};
const AttrSpec kDynamic = {"dynamic_shape", false, "must be false"};

void infer_send(InferContext& c) {
  require(c.in("X").kind == VarKind::kTensor, "{} takes tensors, but X is a {}", c.op().type(),
          name_of(c.in("X").kind));
}

bool define_pair(const std::string& send_type, const std::string& recv_type,
                 std::vector<AttrSpec> attrs) {
  attrs.insert(attrs.begin(), {kRingId, kUseCalcStream, kPeer});
  define_op({.type = send_type,
             .doc = "Sends X to another process, which receives it with " + recv_type + ".",
             .inputs = {{.name = "X", .doc = "any tensor"}},
             .attrs = attrs,
             .infer = infer_send,
             .kernels = every_dtype(send),
             .side_effect = true});
  attrs.push_back({"out_shape", std::vector<int32_t>{}, "what is sent has this shape"});
  attrs.push_back({"dtype", 5, "Paddle's number of its type"});
  define_op({.type = recv_type,
             .doc = "Out is what another process sends with " + send_type + ".",
             .outputs = {{.name = "Out", .doc = "of shape out_shape"}},
             .attrs = std::move(attrs),
             .infer = infer_recv,
             .kernels = every_dtype(recv),
             .side_effect = true});
  return true;
}

const bool whole = define_pair("send_v2", "recv_v2", {kDynamic});
const bool partial =
    define_pair("partial_send", "partial_recv",
                {{"num", 1, "parts of a tensor"}, {"id", 0, "which of them travels"}});

}  // namespace
}  // namespace flotilla::ops
