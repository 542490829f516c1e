#include "flotilla/job/workers.h"

#include <string>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/error.h"
#include "flotilla/comm/processes.h"

namespace flotilla::job {
namespace {

std::unique_ptr<comm::World> meet(const fleet::Role& role, Membership* membership) {
  if (role.workers == 1) return comm::make_alone();
  require(role.is_worker(), "only workers exchange gradients, and this process is none");
  require(membership != nullptr,
          "worker {} of {} has no store where it could meet the others: start the job with "
          "fleetrun, or set PADDLE_TRAINER_ENDPOINTS so that worker 0 can host one",
          role.index, role.workers);
  // The store lives as long as the membership, which outlives the world.
  const std::shared_ptr<rpc::StoreClient> store(std::shared_ptr<void>(), &membership->store());
  return comm::make_processes(
      {.store = store,
       .rank = static_cast<int>(role.index),
       .size = static_cast<int>(role.workers),
       // A group that is started again must not meet what its last attempt left in the store.
       .name = fmt::format("comm/{}", membership->self().attempt),
       .address = role.endpoint.empty() ? "127.0.0.1" : host_of(role.endpoint)});
}

}  // namespace

Workers::Workers(const fleet::Role& role, Membership* membership) : world_(meet(role, membership)) {
  if (membership == nullptr) return;
  listening_ =
      membership->on_stop([world = world_.get()](const std::string& why) { world->abort(why); });
}

Workers::~Workers() = default;

}  // namespace flotilla::job
