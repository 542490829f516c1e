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

#include "flotilla/base/progress.h"
#include "flotilla/fleet/pipeline.h"
#include "flotilla/fleet/role.h"
#include "flotilla/job/membership.h"
#include "flotilla/job/workers.h"
#include "flotilla/runtime/executor.h"

namespace flotilla::job {

class Fleet {
 public:
  // Waits until all workers are here.
  explicit Fleet(fleet::Role role);

  const fleet::Role& role() const { return role_; }
  comm::World& world() { return workers_.world(); }

  // Makes the programs of minimize() those of a worker among many.
  fleet::Applied distribute(Program& main, Program& startup,
                            const passes::DistributedStrategy& strategy = {});
  // For an executor that runs such programs with the other workers.
  Executor::Options executor_options(Generator* generator = nullptr);

 private:
  Progress progress_;
  const fleet::Role role_;
  const std::unique_ptr<Membership> membership_;
  Workers workers_;
};

}  // namespace flotilla::job
