// flotilla/job/fleet.h
//
// The fleet as one of its processes sees it: what fleet.init() is to a Python program.
//
//   job::Fleet fleet(fleet::role_from_environment(/*collective=*/true));
//   nn::adam(0.001).minimize(loss);
//   fleet.distribute(nn::default_main_program(), nn::default_startup_program());
//   Session session(1, fleet);
//
// Thread safety: as comm::World.

#pragma once

#include <memory>

#include "flotilla/comm/world.h"
#include "flotilla/fleet/pipeline.h"
#include "flotilla/fleet/role.h"
#include "flotilla/runtime/executor.h"

namespace flotilla::job {

class Fleet {
 public:
  // Waits until all workers are here.
  explicit Fleet(fleet::Role role);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  const fleet::Role& role() const;
  comm::World& world();

  // Makes the programs of minimize() those of a worker among many.
  fleet::Applied distribute(Program& main, Program& startup,
                            const passes::DistributedStrategy& strategy = {});
  // For an executor that runs such programs with the other workers.
  Executor::Options executor_options(Generator* generator = nullptr);

 private:
  struct Parts;  // the connections to the job, whose headers need gRPC
  std::unique_ptr<Parts> parts_;
};

}  // namespace flotilla::job
