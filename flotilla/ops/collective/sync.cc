// flotilla/ops/collective/sync.cc
//
// What orders processes and streams, and what makes groups: barrier, c_comm_init and its like. On a
// CPU there is one stream of work beside the program; whoever touches what it works on waits for it
// by itself, so that c_sync_* and c_wait_* only hand their variables on.

#include <numeric>

#include "flotilla/op/lower.h"
#include "flotilla/ops/collective/bucket.h"
#include "flotilla/ops/collective/channel.h"
#include "flotilla/ops/collective/collective.h"
#include "flotilla/ops/tensor/move.h"

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

Step barrier(PrepareContext& c) {
  const Channel channel(c, "waits at a barrier", Progress::Kind::kBarrier);
  const Step pass = c.has("X") && c.has("Out") ? identity(c) : Step([] {});
  if (channel.alone()) return pass;
  return [channel, pass] {
    pass();
    channel.run([](comm::Group& group) { group.barrier(); });
  };
}

const OpDef& barrier_op =
    define_op({.type = "barrier",
               .doc = "Waits until all processes are here.",
               .inputs = {{.name = "X", .doc = "any tensor", .optional = true}},
               .outputs = {{.name = "Out", .doc = "the same", .optional = true}},
               .attrs = {kRingId},
               .infer =
                   [](InferContext& c) {
                     if (c.has_in("X")) infer_exchange(c);
                   },
               .kernels = every_dtype(barrier),
               .side_effect = true});

// Groups of some processes are made by whoever knows their ranks; a program can only ask for one of
// all.
void make_ring(comm::World& world, int64_t ring, int64_t ranks) {
  if (world.has_ring(ring)) return;
  require(ranks == world.size(),
          "ring {} of {} ranks has not been made, and a program by itself can only make one of all "
          "{}",
          ring, ranks, world.size());
  std::vector<int> all(static_cast<size_t>(world.size()));
  std::iota(all.begin(), all.end(), 0);
  world.make_ring(ring, all);
}

Step init_ring(PrepareContext& c) {
  const int64_t ring = c.attr<int64_t>("ring_id");
  // c_comm_init_all is for one process with many devices; here every device has a process.
  const bool all = c.op().type() == "c_comm_init_all";
  const int64_t asked = all ? 1 : c.attr<int64_t>("nranks");
  if (is_alone(c)) {
    require(asked <= 1,
            "c_comm_init of {} ranks was asked for, but this process is alone: start all of them "
            "with fleetrun",
            asked);
    return [] {};
  }
  comm::World* world = c.around().world;
  const int64_t ranks = all ? world->size() : asked;
  return [world, ring, ranks] { make_ring(*world, ring, ranks); };
}

const OpDef& comm_init = define_op(
    {.type = "c_comm_init",
     .doc = "Makes the group of ring_id, unless there is one.",
     .inputs = {{.name = "X", .doc = "what c_gen_nccl_id gave; not read", .optional = true}},
     .attrs = {{"nranks", 1, "members of the group"},
               {"rank", 0, "the place of this process in it"},
               {"device_id", -1, "a hint of Paddle's"},
               {"endpoints", "", "a hint of Paddle's"},
               kRingId},
     .kernels = every_dtype(init_ring),
     .side_effect = true});

const OpDef& comm_init_all =
    define_op({.type = "c_comm_init_all",
               .doc = "Makes the group of ring_id out of all processes, unless there is one.",
               .attrs = {{"devices", std::vector<int32_t>{}, "a hint of Paddle's"}, kRingId},
               .kernels = every_dtype(init_ring),
               .side_effect = true});

const OpDef& gen_id =
    define_op({.type = "c_gen_nccl_id",
               .doc = "Does nothing: processes find each other through the store of their job.",
               .outputs = {{.name = "Out", .doc = "not written"}},
               .attrs = {{"rank", 0, "the place of this process"},
                         {"endpoint", "", "its address"},
                         {"other_endpoints", std::vector<std::string>{}, "those of the others"},
                         kRingId},
               .kernels = every_dtype([](PrepareContext&) -> Step { return [] {}; })});

}  // namespace
}  // namespace flotilla::ops
