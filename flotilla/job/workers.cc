#include "flotilla/job/workers.h"

#include <chrono>
#include <string>
#include <thread>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/error.h"
#include "flotilla/comm/processes.h"
#include "flotilla/rpc/early_end.h"

namespace flotilla::job {
namespace {

constexpr std::chrono::milliseconds kLook{10};

std::string left_key(const Membership& membership, int64_t rank) {
  return fmt::format("comm/{}/left/{}", membership.self().attempt, rank);
}

std::string why_gone(Membership& membership, int64_t rank) {
  std::optional<std::string> how;
  try {
    how = membership.store().find(left_key(membership, rank));
  } catch (const Error&) {
    // The store is gone, too.
  }
  if (!how || membership.progress() == nullptr) return "";
  const Progress::Now now = membership.progress()->now();
  const int64_t self = membership.self().rank;
  const std::string waiting =
      now.kind == Progress::Kind::kBarrier
          ? fmt::format("worker {} waited for it after {} steps", self, now.steps)
          : fmt::format("worker {} was in step {}", self, now.steps + 1);
  const char* advice =
      how->starts_with("failed")
          ? "its output says why"
          : "all workers must run the same number of steps. Give each of them as many batches, or "
            "read with a DataLoader or a data set, whose passes end for all workers together";
  return fmt::format("{}: {}", rpc::early_end(rank, *how, waiting), advice);
}

std::unique_ptr<comm::World> meet(const fleet::Role& role, Membership* membership) {
  if (role.workers == 1) return comm::make_alone();
  require(role.is_worker(), "only workers exchange gradients, and this process is not a worker");
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
       .address = role.endpoint.empty() ? "127.0.0.1" : host_of(role.endpoint),
       .why_gone = [membership](int rank) { return why_gone(*membership, rank); }});
}

}  // namespace

Workers::Workers(const fleet::Role& role, Membership* membership)
    : membership_(membership), world_(meet(role, membership)) {
  if (membership == nullptr) return;
  listening_ =
      membership->on_stop([world = world_.get()](const std::string& why) { world->abort(why); });
}

Workers::~Workers() {
  if (membership_ == nullptr || world_->rank() != 0) return;
  try {
    membership_->store().set(done_key("all"), "");
  } catch (const Error&) {
    // The job stopped: nobody waits any more.
  }
}

void Workers::leave(bool failed) {
  if (membership_ == nullptr || membership_->progress() == nullptr) return;
  const int64_t steps = membership_->progress()->now().steps;
  try {
    membership_->store().set(left_key(*membership_, membership_->self().rank),
                             rpc::ended_after(failed, steps));
  } catch (const Error&) {
    // The job stopped: nobody waits any more.
  }
}

std::string Workers::done_key(const std::string& which) const {
  return fmt::format("comm/{}/done/{}", membership_->self().attempt, which);
}

void Workers::first_is_done() {
  if (membership_ != nullptr) membership_->store().set(done_key(std::to_string(++done_)), "");
}

void Workers::wait_for_first() {
  if (membership_ == nullptr) return;
  const std::string key = done_key(std::to_string(++done_));
  rpc::StoreClient& store = membership_->store();
  while (!store.find(key) && !store.find(done_key("all"))) std::this_thread::sleep_for(kLook);
}

}  // namespace flotilla::job
