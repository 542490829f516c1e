// flotilla/job/workers.h
//
// The workers of a job as one of them sees the others: a world over the job's store whose waits end
// when the job stops.
//
// Thread safety: as comm::World.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

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

  // This worker's process ends: others that still wait for it say after how many steps, instead of
  // that a connection was closed. `failed`: by an exception.
  void leave(bool failed);

  // What worker 0 does for all, such as writing a model: it says when it is done, and the others
  // wait until it has said so as often as they have waited, or has left. It waits for nobody, so
  // that it may do so alone.
  void first_is_done();
  void wait_for_first();

 private:
  std::string done_key(const std::string& which) const;

  Membership* const membership_;  // null where the worker is alone
  int64_t done_ = 0;              // times that this worker has said so, or has waited
  std::unique_ptr<comm::World> world_;
  Membership::Listening listening_;  // the first to go: it uses the world
};

}  // namespace flotilla::job
