// What the launchers of other hosts bring about.

#include <fmt/format.h>

#include <thread>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/error.h"
#include "flotilla/launch/run_loop.h"

namespace flotilla::launch {

void Run::meet() {
  hosts_.meet(processes_.all().empty() ? 0 : processes_.all().front().outcome.attempt);
  store_.set_address(job_.store);
  if (job_.serve_at.empty()) return;
  // Bound to the link of this attempt: the end of its store is no loss for the next one.
  store_.serve(job_.serve_at, hosts_.link().on_lost());
  store_.set_address(job_.store);
}

void Run::on_link() {
  hosts_.link().clear_fd();
  if (hosts_.is_meeting()) {
    if (ending_) return hosts_.part();
    const Hosts::Progress progress = hosts_.come_together();
    if (progress == Hosts::Progress::kTogether) return processes_.start_all();
    if (progress == Hosts::Progress::kLost) {
      require(restarts_.count() > 0, "{} before the job started; see the output of host {}",
              hosts_.link().lost(), host_of(job_.store));
      // That was the store of the attempt that failed.
      std::this_thread::sleep_for(Link::kRetry / 5);
      return meet();
    }
  }
  if (hosts_.is_together()) follow_hosts();
}

// What went wrong on another host, or what came of it.
void Run::follow_failure() {
  if (end_.culprit || !end_.stalled.empty() || end_.interrupted != 0) return;
  if (std::optional<Outcome> failed = hosts_.link().failure()) {
    take_stock();
    if (failed->role.empty()) {
      end_.stalled = failed->stuck;
      if (!ending_) begin_end(end_.stalled, SIGTERM, kGraceAfterFailure);
      return;
    }
    end_.culprit = std::move(failed);
    const bool restarts = !ending_ && job_.mode == Mode::kCollective &&
                          end_.culprit->role != "launcher" && may_restart(*end_.culprit);
    if (restarts) group_restarts_ = true;
    if (ending_) return;
    // Interrupted there is interrupted here: nobody failed.
    const bool interrupted = end_.culprit->role == "launcher";
    begin_end(interrupted ? fmt::format("the job was interrupted on host {}", end_.culprit->host)
                          : sentence_of(*end_.culprit),
              interrupted && end_.culprit->ending.signal == SIGINT ? SIGINT : SIGTERM,
              kGraceAfterFailure);
    return;
  }
  if (ending_) return;
  if (std::string why = hosts_.link().lost(); !why.empty()) {
    end_.lost = std::move(why);
    take_stock();
    begin_end(end_.lost, SIGTERM, kGraceAfterFailure);
  }
}

void Run::follow_hosts() {
  const auto stand = [&] {
    watch_.set_warned();
    return watch_.standing();
  };
  if (const auto stall = hosts_.next_stall(stand)) {
    voice_.say(stall_warning(stall->sentence, stall->parts));
  }
  follow_failure();
  if (group_restarts_ && !processes_.anyone_runs()) return restart_group();
  if (!ending_ && processes_.workers_done()) hosts_.say_workers_done();
  if (!ending_ && processes_.anyone_runs() && processes_.workers_done() &&
      hosts_.link().all_workers_done()) {
    finish_servers();
  }
  if (processes_.anyone_runs()) return;
  if (end_.well()) {
    hosts_.say_done();
    if (hosts_.link().all_done()) hosts_.part();
    return;
  }
  if (end_.stock.empty()) return hosts_.part();
  if (std::optional<Hosts::Parts> said = hosts_.last_standings()) {
    if (!said->empty()) end_.stock = std::move(*said);
    hosts_.part();
  }
}

}  // namespace flotilla::launch
