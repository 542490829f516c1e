#include "bind_job.h"

#include <absl/synchronization/mutex.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <optional>

#include "bind.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "gil.h"
#include "interruptibly.h"
#include "interrupts.h"
#include "running.h"

namespace flotilla::python {
namespace {

// Of this process. Never destroyed: threads may report while the interpreter ends.
struct Job {
  Progress progress = {};
  std::atomic<bool> tried = false;  // to join without being asked
  absl::Mutex turn = {};
  std::unique_ptr<job::Membership> membership ABSL_GUARDED_BY(turn) = nullptr;
  pid_t owner ABSL_GUARDED_BY(turn) = 0;  // a fork of it must leave the membership alone
};

Job& this_job() {
  static Job& job = *new Job;
  return job;
}

// REQUIRES: the lock of the interpreter is not held, since the store may have to be waited for.
job::Membership* join(const fleet::Role& role) {
  Job& job = this_job();
  const absl::MutexLock lock(&job.turn);
  job.tried = true;
  if (job.membership == nullptr) {
    job.membership = job::Membership::join(
        role, &job.progress, {.while_waiting = listen, .interrupted = interrupt_is_due});
    job.owner = getpid();
    job.progress.reach(Progress::Mark::kJoined);
  }
  return job.owner == getpid() ? job.membership.get() : nullptr;
}

// One that fails must not look like one that is done.
void leave(bool failed, bool interrupted) {
  Job& job = this_job();
  const absl::MutexLock lock(&job.turn);
  if (job.membership == nullptr || job.owner != getpid()) return;
  if (interrupted) job.membership->end_store(SIGINT);
  if (failed) job.membership->abandon("the process failed");
  job.membership.reset();
}

// What a thread waits for outside of the core, as a `with` block.
struct InputWait {
  std::optional<Progress::Span> span = {};
};

}  // namespace

Progress* progress() { return &this_job().progress; }

bool job_interrupted() {
  Job& job = this_job();
  if (!job.turn.TryLock()) return false;  // it is being joined
  const bool interrupted = job.membership != nullptr && job.owner == getpid() &&
                           job.membership->stopped().starts_with(job::kInterrupted);
  job.turn.Unlock();
  return interrupted;
}

job::Membership* join_job(const fleet::Role& role) {
  const InterruptibleRelease released;
  return join(role);
}

bool in_job() {
  Job& job = this_job();
  const nb::gil_scoped_release released;
  const absl::MutexLock lock(&job.turn);
  return job.membership != nullptr && job.owner == getpid();
}

void join_job_if_launched() {
  Job& job = this_job();
  if (job.tried.load(std::memory_order_relaxed)) return;
  job.tried = true;
  if (!env::text("FLT_STORE")) return;
  const InterruptibleRelease released;
  try {
    join({});
  } catch (const Error& error) {
    // A program that a process of the job has started finds its rank taken, and runs on its own.
    if (error.kind() != ErrorKind::kInvalidArgument) throw;
  }
}

void bind_job(nb::module_& m) {
  progress()->reach(Progress::Mark::kImported);
  m.def(
      "join_job", [](const fleet::Role& role) { return join_job(role) != nullptr; },
      nb::arg("role"), "Connects this process to the store of its job. False: it is on its own.");
  m.def(
      "job_stopped",
      [] {
        Job& job = this_job();
        const absl::MutexLock lock(&job.turn);
        return job.membership == nullptr ? std::string() : job.membership->stopped();
      },
      nb::call_guard<GilReleased>(), "Why the job stopped; \"\": it goes on.");
  m.def("job_interrupted", &job_interrupted, "Whether somebody has interrupted the job.");
  nb::class_<InputWait>(m, "InputWait", "A `with` block that waits for input.")
      .def(nb::init<>())
      .def("__enter__",
           [](InputWait& wait) {
             wait.span.emplace(progress(), Progress::Kind::kInput, kWaitsForBatch);
           })
      .def(
          "__exit__", [](InputWait& wait, nb::args) { wait.span.reset(); }, nb::arg("error"));
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    if (runs_go_on()) return;
    const nb::module_ system = nb::module_::import_("sys");
    const bool failed = nb::hasattr(system, "last_value");
    const bool interrupted =
        failed && PyErr_GivenExceptionMatches(nb::object(system.attr("last_value")).ptr(),
                                              PyExc_KeyboardInterrupt) != 0;
    const GilReleased released;
    leave(failed, interrupted);
  }));
}

}  // namespace flotilla::python
