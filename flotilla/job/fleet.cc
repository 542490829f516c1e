#include "flotilla/job/fleet.h"

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <utility>

#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/job/fleet_parts.h"
#include "flotilla/runtime/schedule.h"

namespace flotilla::job {

Fleet::Fleet() : Fleet(Options{}) {}

Fleet::Fleet(Options options)
    : options_(std::move(options)),
      exceptions_(std::uncaught_exceptions()),
      owner_(getpid()),
      parts_(std::make_unique<Parts>()) {
  if (options_.progress == nullptr) options_.progress = &own_progress_;
  if (!options_.print) {
    options_.print = [](const std::string& line) { fmt::print("{}\n", line), std::fflush(stdout); };
  }
}

Fleet::Fleet(fleet::Role role) : Fleet(Options{}) { init(std::move(role)); }

Fleet::~Fleet() { leave(std::uncaught_exceptions() > exceptions_); }

Fleet::Parts& Fleet::here() const {
  if (owner_ != getpid()) {
    const Parts* parents = parts_.release();
    parts_ = std::make_unique<Parts>();
    parts_->of_parent = parents->of_parent || parents->membership != nullptr;
    parts_->hooks = parents->hooks;  // its programs are the same
    parts_->unsaid = parents->unsaid;
    owner_ = getpid();
  }
  return *parts_;
}

// ---- Joining and leaving ------------------------------------------------------------------------

const fleet::Role& Fleet::role() const { return role_; }

Membership* Fleet::membership(const fleet::Role& role) {
  Parts& parts = here();
  const std::lock_guard lock(parts.turn);
  parts.tried = true;
  if (parts.of_parent) return nullptr;
  if (parts.membership == nullptr) {
    parts.membership = Membership::join(
        role, &progress(),
        {.while_waiting = options_.while_waiting, .interrupted = options_.interrupted});
    progress().reach(Progress::Mark::kJoined);
  }
  return parts.membership.get();
}

bool Fleet::join(const fleet::Role& role) { return membership(role) != nullptr; }

void Fleet::join_if_launched() {
  Parts& parts = here();
  if (parts.tried.load(std::memory_order_relaxed)) return;
  parts.tried = true;
  if (!env::text("FLT_STORE")) return;
  try {
    join({});
  } catch (const Error& error) {
    // A program that a process of the job has started finds its rank taken, and runs on its own.
    if (error.kind() != ErrorKind::kInvalidArgument) throw;
  }
}

void Fleet::init(fleet::Role role) {
  join(role);
  if (role.servers() == 0) {
    meet(role);
  } else if (role.is_worker()) {
    begin_worker(role);
  }
  role_ = std::move(role);
}

bool Fleet::joined() const {
  Parts& parts = here();
  const std::lock_guard lock(parts.turn);
  return parts.membership != nullptr;
}

std::string Fleet::stopped() const {
  Parts& parts = here();
  const std::lock_guard lock(parts.turn);
  return parts.membership == nullptr ? std::string() : parts.membership->stopped();
}

bool Fleet::interrupted() const {
  Parts& parts = here();
  const std::unique_lock lock(parts.turn, std::try_to_lock);
  if (!lock.owns_lock()) return false;  // it is being joined
  return parts.membership != nullptr && parts.membership->stopped().starts_with(kInterrupted);
}

void Fleet::leave(bool failed, int signal) {
  Parts& parts = here();
  parts.server = nullptr;
  try {
    if (parts.tables != nullptr && !failed) parts.tables->stop();
  } catch (const Error&) {
    // The job stopped; who stopped it has said why.
  }
  parts.tables = nullptr;
  if (parts.workers != nullptr) parts.workers->leave(failed);
  parts.workers = nullptr;
  const std::lock_guard lock(parts.turn);
  if (parts.membership == nullptr) return;
  if (signal != 0) parts.membership->end_store(signal);
  // One that fails must not look like one that is done.
  if (failed) parts.membership->abandon("the process failed");
  parts.membership = nullptr;
}

// ---- Workers ------------------------------------------------------------------------------------

comm::World& Fleet::meet(const fleet::Role& role) {
  Parts& parts = here();
  if (parts.workers == nullptr) {
    if (parts.left_workers && role.workers > 1) {
      throw Error(ErrorKind::kUnavailable,
                  "this worker has left the others by destroy_process_group(), and can meet them "
                  "again only in another process");
    }
    Membership* const member = role.workers > 1 ? membership(role) : nullptr;
    parts.workers = std::make_unique<Workers>(role, member);
  }
  return parts.workers->world();
}

comm::World& Fleet::world() const {
  comm::World* const world = met();
  require(world != nullptr,
          "this process has not joined the other workers of its job: call fleet.init() or "
          "paddle.distributed.init_parallel_env() first");
  return *world;
}

comm::World* Fleet::met() const {
  const Parts& parts = here();
  return parts.workers == nullptr ? nullptr : &parts.workers->world();
}

void Fleet::leave_workers() {
  Parts& parts = here();
  if (parts.workers == nullptr) return;
  parts.workers = nullptr;
  parts.left_workers = true;
}

Exchange& Fleet::exchange() {
  comm::World* const world = met();
  return (world != nullptr ? *world : meet(fleet::role_from_environment(false))).exchange();
}

void Fleet::after_first() {
  Workers* const workers = here().workers.get();
  if (workers == nullptr) return;
  if (workers->world().rank() == 0) return workers->first_is_done();
  const Progress::Span span(&progress(), Progress::Kind::kBarrier, "waits for worker 0");
  workers->wait_for_first();
}

void Fleet::barrier_worker() {
  if (role().servers() > 0) return tables().barrier();
  comm::World& world = this->world();
  const Progress::Span span(&progress(), Progress::Kind::kBarrier, "waits for other workers");
  world.queue().run([&] { world.ring(0).barrier(); });
}

std::string Fleet::trains_alone(const Program& program) {
  Parts& parts = here();
  if (parts.said_alone || !parts.kind_of(program).updates) return "";
  const bool met = parts.workers != nullptr && parts.workers->world().size() > 1;
  if (met && !collective_schedule(program).empty()) return "";
  // A program that a worker has started belongs to no job of its own.
  if (env::text("FLT_STORE") && !joined()) return "";
  fleet::Role role;
  try {
    role = fleet::data_role_from_environment();
  } catch (const Error&) {
    return "";  // whoever needs the variables says what is wrong with them
  }
  if (role.workers == 1 || role.servers() > 0) return "";
  parts.said_alone = true;
  progress().reach(Progress::Mark::kAlone);
  return fmt::format(
      "worker {} of {} trains a model of its own: {}", role.index, role.workers,
      met ? "its program exchanges nothing with the other workers. Let "
            "fleet.distributed_optimizer(...) minimize the loss"
          : "it has not joined the other workers. Call fleet.init(is_collective=True), and let "
            "fleet.distributed_optimizer(...) minimize the loss");
}

}  // namespace flotilla::job
