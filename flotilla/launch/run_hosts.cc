#include <fmt/format.h>
#include <unistd.h>

#include <thread>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/error.h"
#include "flotilla/launch/print.h"
#include "flotilla/launch/run_state.h"
#include "flotilla/rpc/dial.h"
#include "flotilla/rpc/job_token.h"
#include "flotilla/rpc/outage.h"

namespace flotilla::launch {
namespace {

using std::chrono::milliseconds;

// How often it is found out why hosts may be missing; more often at first.
constexpr Reminder::Times kLookEarly{.first = milliseconds(2000), .every = milliseconds(2000)};
constexpr Reminder::Times kLookLater{.first = milliseconds(10000), .every = milliseconds(10000)};
constexpr double kEarly = 10;  // seconds
constexpr milliseconds kGoodbye{3000};
constexpr double kLastWords = 1;     // how long another host may take to say where it stands
constexpr const char* kEnd = "end";  // the moment in which the job begins to fail

// What must be the same on every host, for people to read.
std::string plan_text(const Job& job, const JobOptions& options) {
  const bool servers = job.mode == Mode::kServers;
  std::string text =
      fmt::format("{} on {}", servers ? "servers" : "collective", fmt::join(job.hosts, ","));
  if (options.max_restart.value_or(0) > 0) {
    text += fmt::format(", --max_restart {}", *options.max_restart);
  }
  if (const auto limit = rpc::Outage::from_environment().limit; limit != rpc::Outage().limit) {
    text += fmt::format(", --outage_limit {:g}", std::chrono::duration<double>(limit).count());
  }
  for (const auto& [name, value] : job.processes.front().shown) {
    if (name.ends_with("_ENDPOINTS") || name.ends_with("_LIST")) {
      text += fmt::format(", {} {}", name, value);
    }
  }
  return text;
}

}  // namespace

void Run::meet() {
  require(!job_.processes.empty(), "host {} has no process of the job",
          job_.hosts[static_cast<size_t>(job_.host)]);
  if (!rpc::job_secret() && job_.token.empty() && restarts_ == 0) {
    const std::string who = fmt::format("any user of {}", fmt::join(job_.hosts, ", "));
    say(log_line("WARNING", rpc::without_secret(who)));
  }
  link_.emplace(Link::Options{.hosts = job_.hosts,
                              .self = job_.host,
                              .store = job_.store,
                              .token = token_,
                              .plan = plan_text(job_, options_),
                              .attempt = running_.front().outcome.attempt,
                              .stop = [this] { return asked_to_end(); }});
  store_address_ = job_.store;
  if (!job_.serve_at.empty()) {
    serve_store(job_.serve_at);
    store_address_ = job_.store;
  }
  meeting_ = Meeting::kConnecting;
  reminder_ = Reminder();
  look_ = Reminder(kLookEarly);
}

void Run::on_link() {
  link_->clear_fd();
  if (meeting_ == Meeting::kConnecting || meeting_ == Meeting::kJoining) {
    if (ending_) {
      meeting_ = Meeting::kApart;
      return;
    }
    if (meeting_ == Meeting::kConnecting && link_->connect()) meeting_ = Meeting::kJoining;
    if (meeting_ == Meeting::kJoining && link_->all_joined()) {
      meeting_ = Meeting::kTogether;
      start_all();
      return;
    }
    if (const std::string why = link_->lost(); !why.empty()) {
      if (restarts_ > 0) {  // that was the store of the attempt that failed
        std::this_thread::sleep_for(Link::kRetry / 5);
        return meet();
      }
      refuse("{} before the job began; host {} may say more", why, host_of(job_.store));
    }
    look_for_missing();
    if (reminder_.due()) remind();
  }
  if (meeting_ == Meeting::kTogether) follow_hosts();
}

std::vector<std::string> Run::missing_hosts() const {
  return meeting_ == Meeting::kConnecting ? std::vector{host_of(job_.store)} : link_->missing();
}

void Run::look_for_missing() {
  if (!look_.due()) return;
  if (seconds_since(began_) >= kEarly) look_ = Reminder(kLookLater);
  const std::vector<std::string> missing = missing_hosts();
  if (Clock::now() - began_ >= rpc::patience_with_names()) {
    for (const std::string& host : missing) {
      const rpc::Name name = rpc::look_up(host, [this] { return asked_to_end(); });
      if (name == rpc::Name::kUnclear) break;  // each question may take long
      require(name != rpc::Name::kUnknown,
              "the hosts of the job are {}, but no host has the name \"{}\"",
              fmt::join(job_.hosts, ", "), host);
    }
  }
  if (const std::string why = link_->look_for_others(milliseconds(300)); !why.empty()) {
    refuse("{}", why);
  }
}

void Run::remind() {
  const std::vector<std::string> missing = missing_hosts();
  const std::string come = meeting_ == Meeting::kConnecting
                               ? "which is to serve the store of the job"
                               : fmt::format("{} of {} hosts have come",
                                             job_.hosts.size() - missing.size(), job_.hosts.size());
  say(log_line("INFO", fmt::format("waiting for {} to start the job: {}; `flotilla check --ips` "
                                   "shows whether the hosts reach each other",
                                   fmt::join(missing, ", "), come)));
}

// What went wrong on another host, or what came of it.
void Run::follow_failure() {
  if (culprit_ || !stalled_.empty() || interrupted_ != 0) return;
  if (std::optional<Outcome> failed = link_->failure()) {
    take_stock();
    if (failed->role.empty()) {
      stalled_ = failed->stuck;
      if (!ending_) begin_end(stalled_, SIGTERM, kGraceAfterFailure);
      return;
    }
    culprit_ = std::move(failed);
    const bool restarts = !ending_ && job_.mode == Mode::kCollective &&
                          culprit_->role != "launcher" && may_restart(*culprit_);
    if (restarts) group_restarts_ = true;
    if (ending_) return;
    // Interrupted there is interrupted here: nobody failed.
    const bool interrupted = culprit_->role == "launcher";
    begin_end(interrupted ? fmt::format("the job was interrupted on host {}", culprit_->host)
                          : sentence_of(*culprit_),
              interrupted && culprit_->ending.signal == SIGINT ? SIGINT : SIGTERM,
              kGraceAfterFailure);
    return;
  }
  if (ending_) return;
  if (std::string why = link_->lost(); !why.empty()) {
    lost_ = std::move(why);
    take_stock();
    begin_end(lost_, SIGTERM, kGraceAfterFailure);
  }
}

void Run::follow_stalls() {
  const std::optional<std::string> sentence = link_->stall(stalls_);
  if (!sentence) return;
  const std::string moment = fmt::format("stall {}", stalls_);
  if (!stall_heard_) {
    stall_heard_ = warned_ = Clock::now();
    link_->say_standing(moment, standing());
  }
  if (!link_->all_said_standing(moment) && seconds_since(*stall_heard_) < kLastWords) return;
  warn_of_stall(*sentence, link_->standings(moment));
  stall_heard_.reset();
  ++stalls_;
}

void Run::take_stock() {
  if (stock_.empty()) stock_ = {standing()};
  if (!link_ || meeting_ != Meeting::kTogether) return;
  stock_asked_ = link_->say_standing(kEnd, stock_[0]) ? Clock::now() : Clock::time_point();
}

bool Run::stock_is_taken() {
  if (stock_.empty()) return true;
  if (!link_->all_said_standing(kEnd) && seconds_since(stock_asked_) < kLastWords) return false;
  if (std::vector<std::vector<Standing>> parts = link_->standings(kEnd); !parts.empty()) {
    stock_ = std::move(parts);
  }
  return true;
}

void Run::follow_hosts() {
  follow_stalls();
  follow_failure();
  if (group_restarts_ && !anyone_runs()) return restart_group();
  if (!ending_ && workers_done() && !said_workers_done_) {
    said_workers_done_ = true;
    link_->say_workers_done();
  }
  if (!ending_ && anyone_runs() && workers_done() && link_->all_workers_done()) finish_servers();
  if (anyone_runs()) return;
  const bool well = !culprit_ && stalled_.empty() && interrupted_ == 0 && lost_.empty();
  if (well && !said_done_) {
    said_done_ = true;
    link_->say_done();
  }
  if (well ? link_->all_done() : stock_is_taken()) meeting_ = Meeting::kApart;
}

// The first host serves the store until the others have left.
void Run::leave_hosts() {
  const auto others_there = [&] {
    for (const rpc::Member& member : store_->members()) {
      if (member.role == "launcher" && member.rank != job_.host) return true;
    }
    return false;
  };
  const auto deadline = Clock::now() + kGoodbye;
  while (store_ && others_there() && Clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  link_.reset();
}

}  // namespace flotilla::launch
