#include "flotilla/job/fleet_member.h"

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <utility>

#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/job/fleet_parts.h"
#include "flotilla/runtime/schedule.h"

namespace flotilla::job {

FleetMember::FleetMember(Options options)
    : options_(std::move(options)),
      exceptions_(std::uncaught_exceptions()),
      owner_(getpid()),
      parts_(std::make_unique<Parts>()) {
  if (options_.progress == nullptr) options_.progress = &own_progress_;
  if (!options_.print) {
    options_.print = [](const std::string& line) { fmt::print("{}\n", line), std::fflush(stdout); };
  }
}

FleetMember::~FleetMember() { leave(std::uncaught_exceptions() > exceptions_); }

FleetMember::Parts& FleetMember::here() const {
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

const fleet::Role& FleetMember::role() const { return role_; }

Membership* FleetMember::membership(const fleet::Role& role) {
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

bool FleetMember::join(const fleet::Role& role) { return membership(role) != nullptr; }

void FleetMember::join_if_launched() {
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

bool FleetMember::joined() const {
  Parts& parts = here();
  const std::lock_guard lock(parts.turn);
  return parts.membership != nullptr;
}

std::string FleetMember::stopped() const {
  Parts& parts = here();
  const std::lock_guard lock(parts.turn);
  return parts.membership == nullptr ? std::string() : parts.membership->stopped();
}

bool FleetMember::interrupted() const {
  Parts& parts = here();
  const std::unique_lock lock(parts.turn, std::try_to_lock);
  if (!lock.owns_lock()) return false;  // it is being joined
  return parts.membership != nullptr && parts.membership->stopped().starts_with(kInterrupted);
}

void FleetMember::leave(bool failed, int signal) {
  Parts& parts = here();
  parts.server = nullptr;
  try {
    if (parts.tables != nullptr && !failed) parts.tables->stop();
  } catch (const Error&) {
    // The job stopped; who stopped it has said why.
  }
  parts.exchange = nullptr;
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

comm::World& FleetMember::meet(const fleet::Role& role) {
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

comm::World& FleetMember::world() const {
  comm::World* const world = met();
  require(world != nullptr,
          "this process has not joined the other workers of its job: call fleet.init() or "
          "paddle.distributed.init_parallel_env() first");
  return *world;
}

comm::World* FleetMember::met() const {
  const Parts& parts = here();
  return parts.workers == nullptr ? nullptr : &parts.workers->world();
}

void FleetMember::leave_workers() {
  Parts& parts = here();
  if (parts.workers == nullptr) return;
  parts.workers = nullptr;
  parts.left_workers = true;
}

void FleetMember::after_first() {
  Workers* const workers = here().workers.get();
  if (workers == nullptr) return;
  if (workers->world().rank() == 0) return workers->first_is_done();
  const Progress::Span span(&progress(), Progress::Kind::kBarrier, "waits for worker 0");
  workers->wait_for_first();
}

}  // namespace flotilla::job
