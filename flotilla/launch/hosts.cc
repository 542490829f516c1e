#include "flotilla/launch/hosts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/error.h"
#include "flotilla/launch/print.h"
#include "flotilla/rpc/dial.h"
#include "flotilla/rpc/job_token.h"
#include "flotilla/rpc/outage.h"

namespace flotilla::launch {
namespace {

using std::chrono::milliseconds;

// How often it is found out why hosts may be missing; more often at first.
constexpr Reminder::Times kLookEarly{.first = milliseconds(2000), .every = milliseconds(2000)};
constexpr Reminder::Times kLookLater{.first = milliseconds(10000), .every = milliseconds(10000)};
constexpr double kEarly = 10;        // seconds
constexpr double kLastWords = 1;     // how long another host may take to say where it stands
constexpr const char* kEnd = "end";  // the moment in which the job begins to fail

double since(Hosts::Clock::time_point when) {
  return std::chrono::duration<double>(Hosts::Clock::now() - when).count();
}

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

Hosts::Hosts(const JobOptions& options, const Job& job, std::string token,
             std::function<bool()> stop, Voice& voice)
    : options_(options),
      job_(job),
      token_(std::move(token)),
      stop_(std::move(stop)),
      voice_(voice) {}

void Hosts::meet(int64_t attempt) {
  require(!job_.processes.empty(), "no process of the job runs on host {}",
          job_.hosts[static_cast<size_t>(job_.host)]);
  if (!rpc::job_secret() && job_.token.empty() && attempt == 0) {
    const std::string who = fmt::format("any user of {}", fmt::join(job_.hosts, ", "));
    voice_.say(log_line("WARNING", rpc::without_secret(who)));
  }
  link_.emplace(Link::Options{.hosts = job_.hosts,
                              .self = job_.host,
                              .store = job_.store,
                              .token = token_,
                              .plan = plan_text(job_, options_),
                              .attempt = attempt,
                              .stop = stop_});
  state_ = State::kConnecting;
  reminder_ = Reminder();
  look_ = Reminder(kLookEarly);
}

void Hosts::forget() {
  link_.reset();
  said_workers_done_ = said_done_ = false;
  stalls_ = 0;
  stall_heard_.reset();
}

Hosts::Progress Hosts::come_together() {
  if (is_connecting() && link_->connect()) state_ = State::kJoining;
  if (state_ == State::kJoining && link_->all_joined()) {
    state_ = State::kTogether;
    return Progress::kTogether;
  }
  if (!link_->lost().empty()) return Progress::kLost;
  look_for_missing();
  if (reminder_.due()) remind();
  return Progress::kNone;
}

std::vector<std::string> Hosts::missing_hosts() const {
  return is_connecting() ? std::vector{host_of(job_.store)} : link_->missing();
}

void Hosts::look_for_missing() {
  if (!look_.due()) return;
  if (since(began_) >= kEarly) look_ = Reminder(kLookLater);
  const std::vector<std::string> missing = missing_hosts();
  if (Clock::now() - began_ >= rpc::patience_with_names()) {
    for (const std::string& host : missing) {
      const rpc::Name name = rpc::look_up(host, stop_);
      if (name == rpc::Name::kUnclear) break;  // each question may take long
      require(name != rpc::Name::kUnknown,
              "the hosts of the job are {}, but the name \"{}\" cannot be resolved",
              fmt::join(job_.hosts, ", "), host);
    }
  }
  if (const std::string why = link_->look_for_others(milliseconds(300)); !why.empty()) {
    refuse("{}", why);
  }
}

void Hosts::remind() {
  const std::vector<std::string> missing = missing_hosts();
  const std::string come = is_connecting()
                               ? "the host of the job's store"
                               : fmt::format("{} of {} hosts have joined",
                                             job_.hosts.size() - missing.size(), job_.hosts.size());
  voice_.say(
      log_line("INFO", fmt::format("waiting for {} before the job starts: {}; `flotilla check "
                                   "--ips` shows whether the hosts can reach each other",
                                   fmt::join(missing, ", "), come)));
}

std::optional<Hosts::Stall> Hosts::next_stall(
    const std::function<std::vector<Standing>()>& standing) {
  const std::optional<std::string> sentence = link_->stall(stalls_);
  if (!sentence) return std::nullopt;
  const std::string moment = fmt::format("stall {}", stalls_);
  if (!stall_heard_) {
    stall_heard_ = Clock::now();
    link_->say_standing(moment, standing());
  }
  if (!link_->all_said_standing(moment) && since(*stall_heard_) < kLastWords) return std::nullopt;
  stall_heard_.reset();
  ++stalls_;
  return Stall{*sentence, link_->standings(moment)};
}

void Hosts::say_last_standing(const std::vector<Standing>& rows) {
  if (!link_ || !is_together()) return;
  last_asked_ = link_->say_standing(kEnd, rows) ? Clock::now() : Clock::time_point();
}

std::optional<Hosts::Parts> Hosts::last_standings() {
  if (!link_->all_said_standing(kEnd) && since(last_asked_) < kLastWords) return std::nullopt;
  return link_->standings(kEnd);
}

void Hosts::say_workers_done() {
  if (!std::exchange(said_workers_done_, true)) link_->say_workers_done();
}

void Hosts::say_done() {
  if (!std::exchange(said_done_, true)) link_->say_done();
}

}  // namespace flotilla::launch
