// flotilla/job/workers.h
//
// The workers of a job as one of them sees the others: a world over the job's store whose waits end
// when the job stops.
//
// Thread safety: as comm::World.

#pragma once

#include <memory>

#include "flotilla/comm/world.h"
#include "flotilla/fleet/role.h"
#include "flotilla/job/membership.h"

namespace flotilla::job {

class Workers {
 public:
  // Waits until all workers are here. A role without company needs no membership; any other is
  // refused without one. `membership` outlives it.
  Workers(const fleet::Role& role, Membership* membership);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  comm::World& world() { return *world_; }

 private:
  std::unique_ptr<comm::World> world_;
  Membership::Listening listening_;  // the first to go: it uses the world
};

}  // namespace flotilla::job
