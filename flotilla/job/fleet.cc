#include "flotilla/job/fleet.h"

#include <utility>

#include "flotilla/base/progress.h"
#include "flotilla/job/membership.h"
#include "flotilla/job/workers.h"

namespace flotilla::job {

struct Fleet::Parts {
  explicit Parts(fleet::Role who)
      : role(std::move(who)),
        membership(Membership::join(role, &progress)),
        workers(role, membership.get()) {}

  Progress progress = {};
  const fleet::Role role;
  const std::unique_ptr<Membership> membership;
  Workers workers;
};

Fleet::Fleet(fleet::Role role) : parts_(std::make_unique<Parts>(std::move(role))) {
  parts_->progress.reach(Progress::Mark::kJoined);
}

Fleet::~Fleet() = default;

const fleet::Role& Fleet::role() const { return parts_->role; }

comm::World& Fleet::world() { return parts_->workers.world(); }

fleet::Applied Fleet::distribute(Program& main, Program& startup,
                                 const passes::DistributedStrategy& strategy) {
  return fleet::apply_collective(main, startup, parts_->role, strategy);
}

Executor::Options Fleet::executor_options(Generator* generator) {
  return {.generator = generator, .progress = &parts_->progress, .world = &world()};
}

}  // namespace flotilla::job
