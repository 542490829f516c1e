// c_comm_init and c_comm_init_all make groups of processes. c_gen_nccl_id has nothing to do for
// them.

#include <numeric>

#include "flotilla/ops/collective/collective.h"
#include "flotilla/ops/common/channel.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

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
