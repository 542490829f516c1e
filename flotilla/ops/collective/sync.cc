// flotilla/ops/collective/sync.cc
//
// What orders streams: c_sync_* and c_wait_*, nop, depend. On a CPU there is one stream of work
// beside the program; whoever touches what it works on waits for it by itself, so that these only
// hand their variables on.

#include "flotilla/op/lower.h"
#include "flotilla/ops/collective/bucket.h"
#include "flotilla/ops/collective/collective.h"
#include "flotilla/ops/common/channel.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

Step hand_on(PrepareContext& c) {
  if (is_alone(c)) return identity(c);
  const auto bucket = std::make_shared<Bucket>(c);
  return [bucket] { bucket->keep(); };
}

bool define_hand_on(const std::string& type, const std::string& doc,
                    std::vector<AttrSpec> attrs = {kRingId}) {
  define_collective({.type = type,
                     .doc = doc,
                     .attrs = std::move(attrs),
                     .kernels = every_dtype(hand_on),
                     .list = true});
  return true;
}

const bool sync_comm = define_hand_on("c_sync_comm_stream", "Out is X, exchanged.");
const bool wait_comm = define_hand_on("c_wait_comm", "Out is X, exchanged.");
const bool wait_compute = define_hand_on("c_wait_compute", "Out is X, computed.");
const bool nop = define_hand_on("nop", "Out is X, which is kept until here.", {});
const bool sync_calc = define_hand_on("c_sync_calc_stream", "Out is X, computed.", {});

const OpDef& depend = define_op({
    .type = "depend",
    .doc = "Out is X, and all of Dep is there when it is.",
    .inputs = {{.name = "X", .doc = "any tensor"},
               {.name = "Dep", .doc = "not read", .list = true, .shape_only = true}},
    .outputs = {{.name = "Out", .doc = "X"}},
    .infer = [](InferContext& c) { c.out("Out") = like(c.in("X")); },
    .lower = [](LowerContext& c) { c.result("Out", c.apply("assign", c.in("X"))); },
});

}  // namespace
}  // namespace flotilla::ops
