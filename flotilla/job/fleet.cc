#include "flotilla/job/fleet.h"

#include <utility>

namespace flotilla::job {

Fleet::Fleet(fleet::Role role)
    : role_(std::move(role)),
      membership_(Membership::join(role_, &progress_)),
      workers_(role_, membership_.get()) {
  progress_.reach(Progress::Mark::kJoined);
}

fleet::Applied Fleet::distribute(Program& main, Program& startup,
                                 const passes::DistributedStrategy& strategy) {
  return fleet::apply_collective(main, startup, role_, strategy);
}

Executor::Options Fleet::executor_options(Generator* generator) {
  return {.generator = generator, .progress = &progress_, .world = &world()};
}

}  // namespace flotilla::job
