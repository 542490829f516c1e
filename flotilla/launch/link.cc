#include "flotilla/launch/link.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <map>
#include <thread>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/error.h"
#include "flotilla/base/fd.h"
#include "flotilla/base/mutex.h"
#include "flotilla/launch/link.pb.h"

namespace flotilla::launch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kAnswer{2000};

std::string text_of(const Outcome& outcome) {
  Failed failed;
  failed.set_role(outcome.role);
  failed.set_rank(outcome.rank);
  failed.set_host(outcome.host);
  failed.set_pid(outcome.pid);
  failed.set_attempt(outcome.attempt);
  failed.set_log(outcome.log);
  failed.set_seconds(outcome.seconds);
  failed.set_exit_code(outcome.ending.exit_code);
  failed.set_signal(outcome.ending.signal);
  failed.set_stuck(outcome.stuck);
  for (const std::string& line : outcome.last_lines) failed.add_last_lines(line);
  return failed.SerializeAsString();
}

Outcome outcome_of(const std::string& text) {
  Failed failed;
  require(failed.ParseFromString(text), "another host reported a failure in a malformed message");
  return {.role = failed.role(),
          .rank = failed.rank(),
          .host = failed.host(),
          .pid = failed.pid(),
          .attempt = failed.attempt(),
          .log = failed.log(),
          .seconds = failed.seconds(),
          .ended = true,
          .ending = {.exit_code = failed.exit_code(), .signal = failed.signal()},
          .stuck = failed.stuck(),
          .last_lines = {failed.last_lines().begin(), failed.last_lines().end()}};
}

std::string numbered(std::string_view name, int64_t number) {
  return fmt::format("{}/{}", name, number);
}

std::string standing_key(const std::string& moment, int64_t host) {
  return fmt::format("standing/{}/{}", moment, host);
}

}  // namespace

// What the store's threads have brought. Shared, because a last message may come while the link is
// being destroyed.
struct Link::Inbox {
  Fd wake{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  mutable Mutex mutex;
  std::map<std::string, std::string> keys FLT_GUARDED_BY(mutex);
  std::string lost FLT_GUARDED_BY(mutex);

  void lose(const std::string& reason) {
    const MutexLock lock(mutex);
    if (lost.empty()) lost = reason;
    ring();
  }
  void clear() {
    const MutexLock lock(mutex);
    keys.clear();
    lost.clear();
  }
  void ring() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake.get(), &one, sizeof one);
  }
};

Link::Link(Options options)
    : options_(std::move(options)),
      keys_(fmt::format("launch/{}/", options_.attempt)),
      inbox_(std::make_shared<Inbox>()) {}
Link::~Link() = default;

bool Link::connect() {
  const std::string& self = options_.hosts[static_cast<size_t>(options_.self)];
  rpc::StoreClient::Options settings{
      .address = options_.store,
      .token = options_.token,
      .self = {.role = "launcher",
               .rank = options_.self,
               .host = self,
               .pid = getpid(),
               .attempt = options_.attempt},
      .patience = kRetry,
      .stop = options_.stop,
      .on_stop = [inbox = inbox_](const std::string& reason) { inbox->lose(reason); },
      .outlives_stop = true};
  try {
    client_ = std::make_unique<rpc::StoreClient>(settings);
    announce();
  } catch (const Error& error) {
    // A refusal is final; nobody there is not. Where a job starts again it may still be the store
    // of the attempt that failed, or one that has not seen yet that this launcher had left.
    const bool token = error.sentence().find("FLT_JOB_TOKEN") != std::string::npos;
    const bool nobody = error.kind() == ErrorKind::kUnavailable && !client_;
    if (token || (options_.attempt == 0 && !nobody)) throw;
    client_.reset();
    inbox_->clear();
    if (!nobody) std::this_thread::sleep_for(kRetry / 5);  // it answers at once
    return false;
  }
  return true;
}

void Link::announce() {
  client_->watch(keys_,
                 [inbox = inbox_](const std::string& key, const std::optional<std::string>& value) {
                   const MutexLock lock(inbox->mutex);
                   if (value) {
                     inbox->keys[key] = *value;
                   } else {
                     inbox->keys.erase(key);
                   }
                   inbox->ring();
                 });
  HostThere there;
  there.set_address(options_.hosts[static_cast<size_t>(options_.self)]);
  there.set_plan(options_.plan);
  client_->set_leased(keys_ + numbered("host", options_.self), there.SerializeAsString());
}

int Link::fd() const { return inbox_->wake.get(); }

void Link::clear_fd() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(inbox_->wake.get(), &count, sizeof count);
}

std::optional<std::string> Link::seen(const std::string& key) const {
  const MutexLock lock(inbox_->mutex);
  const auto found = inbox_->keys.find(key);
  return found == inbox_->keys.end() ? std::nullopt : std::optional(found->second);
}

bool Link::all_have(const char* name) const {
  for (size_t i = 0; i < options_.hosts.size(); ++i) {
    if (!seen(keys_ + numbered(name, static_cast<int64_t>(i)))) return false;
  }
  return true;
}

bool Link::all_joined() {
  if (const std::optional<std::string> why = seen(keys_ + "refused")) refuse("{}", *why);
  for (size_t i = 0; i < options_.hosts.size(); ++i) {
    const std::optional<std::string> text = seen(keys_ + numbered("host", static_cast<int64_t>(i)));
    if (!text) return false;
    HostThere there;
    require(there.ParseFromString(*text), "host {} sent a malformed message", options_.hosts[i]);
    if (there.plan() != options_.plan) {
      refuse_for_all(
          fmt::format("host {} starts a different job than host {}: \"{}\" instead of \"{}\". Run "
                      "the same command on every host",
                      there.address(), options_.hosts[static_cast<size_t>(options_.self)],
                      there.plan(), options_.plan));
    }
  }
  return true;
}

// The others may not have seen this host yet, and what it said of itself goes when it does.
void Link::refuse_for_all(const std::string& why) {
  try {
    client_->set(keys_ + "refused", why);
  } catch (const Error&) {
    // Whoever has the store is gone too.
  }
  refuse("{}", why);
}

std::vector<std::string> Link::missing() const {
  std::vector<std::string> found;
  for (size_t i = 0; i < options_.hosts.size(); ++i) {
    if (!seen(keys_ + numbered("host", static_cast<int64_t>(i)))) {
      found.push_back(options_.hosts[i]);
    }
  }
  return found;
}

std::string Link::look_for_others(milliseconds patience) const {
  const std::optional<Endpoint> store = find_endpoint(options_.store);
  for (const std::string& host : missing()) {
    if (!store || host == store->host) continue;
    rpc::StoreClient::Options settings{
        .address = Endpoint{host, store->port}.text(),
        .token = options_.token,
        .self = {.role = "visitor", .rank = options_.self, .host = options_.hosts[0]},
        .patience = patience,
        .stop = options_.stop};
    std::string why;
    try {
      rpc::StoreClient visitor(settings);
      const std::optional<std::string> text = visitor.find(keys_ + numbered("host", 0));
      HostThere there;
      if (!text || !there.ParseFromString(*text)) continue;
      why = fmt::format(
          "host {} considers itself the first host of its job \"{}\", but host {} has the job "
          "\"{}\". Give every host the same list in the same order",
          host, there.plan(), options_.hosts[0], options_.plan);
      visitor.set(keys_ + "refused", why);  // it waits too, and may be gone before it answers
    } catch (const Error&) {
      // Nobody serves a store there, as it should be.
    }
    if (!why.empty()) return why;
  }
  return "";
}

Outcome Link::report_failure(const Outcome& outcome) {
  if (!client_->post(keys_ + "failed", text_of(outcome), true)) return outcome;
  // Not for long: the store may be out of reach, and this host's processes are to be ended.
  const Clock::time_point until = Clock::now() + kAnswer;
  while (!failure() && lost().empty() && Clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  return failure().value_or(outcome);
}

std::optional<Outcome> Link::failure() const {
  const std::optional<std::string> text = seen(keys_ + "failed");
  return text ? std::optional(outcome_of(*text)) : std::nullopt;
}

void Link::report_stall(int64_t number, const std::string& sentence) {
  client_->post(keys_ + numbered("stall", number), sentence, true);
}

std::optional<std::string> Link::stall(int64_t number) const {
  return seen(keys_ + numbered("stall", number));
}

bool Link::say_standing(const std::string& moment, const std::vector<Standing>& rows) {
  Stands stands;
  for (const Standing& row : rows) {
    Stand& stand = *stands.add_rows();
    stand.set_role(row.role);
    stand.set_rank(row.rank);
    stand.set_host(row.host);
    if (row.step) stand.set_step(*row.step);
    stand.set_doing(row.doing);
    stand.set_stopped(row.stopped);
  }
  return client_->post(keys_ + standing_key(moment, options_.self), stands.SerializeAsString());
}

std::vector<std::vector<Standing>> Link::standings(const std::string& moment) const {
  std::vector<std::vector<Standing>> parts;
  for (int64_t host = 0; host < std::ssize(options_.hosts); ++host) {
    const std::optional<std::string> text = seen(keys_ + standing_key(moment, host));
    Stands stands;
    if (!text || !stands.ParseFromString(*text)) continue;
    std::vector<Standing>& part = parts.emplace_back();
    for (const Stand& row : stands.rows()) {
      part.push_back({.role = row.role(),
                      .rank = row.rank(),
                      .host = row.host(),
                      .step = row.has_step() ? std::optional(row.step()) : std::nullopt,
                      .doing = row.doing(),
                      .stopped = row.stopped()});
    }
  }
  return parts;
}

bool Link::all_said_standing(const std::string& moment) const {
  for (int64_t host = 0; host < std::ssize(options_.hosts); ++host) {
    const bool there = seen(keys_ + numbered("host", host)).has_value();
    if (there && !seen(keys_ + standing_key(moment, host))) return false;
  }
  return true;
}

void Link::say_workers_done() {
  client_->post(keys_ + numbered("workers_done", options_.self), "");
}
void Link::say_done() { client_->post(keys_ + numbered("done", options_.self), ""); }
bool Link::all_workers_done() const { return all_have("workers_done"); }
bool Link::all_done() const { return all_have("done"); }

std::function<void(const std::string&)> Link::on_lost() const {
  return [inbox = inbox_](const std::string& reason) { inbox->lose(reason); };
}

std::string Link::lost() const {
  const MutexLock lock(inbox_->mutex);
  return inbox_->lost;
}

}  // namespace flotilla::launch
