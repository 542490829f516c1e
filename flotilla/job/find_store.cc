#include "flotilla/job/find_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/base/mutex.h"
#include "flotilla/rpc/dial.h"
#include "flotilla/rpc/job_token.h"

namespace flotilla::job {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;
using Happening = rpc::StoreServer::Happening;

constexpr int64_t kStorePort = 6069;
constexpr seconds kGoodbye{5};     // after a loss
constexpr seconds kAskedToEnd{1};  // after a signal, which may be followed by a kill
constexpr milliseconds kRetry{100};
constexpr milliseconds kDial{800};

bool hosts_it(const fleet::Role& role) {
  return role.index == 0 && (role.servers() > 0 ? role.is_server() : role.is_worker());
}

Endpoint endpoint_in(const std::string& text, const char* source) {
  const std::optional<Endpoint> found = find_endpoint(text);
  require(found.has_value(), "{} takes host:port, but \"{}\" was given", source, text);
  return *found;
}

Endpoint place_of(const fleet::Role& role) {
  if (const std::optional<std::string> said = env::text("PADDLE_MASTER")) {
    return endpoint_in(*said, "PADDLE_MASTER");
  }
  if (role.servers() > 0) return endpoint_in(role.server_endpoints[0], "a server's endpoint");
  if (!role.worker_endpoints.empty()) {
    return endpoint_in(role.worker_endpoints[0], "a worker's endpoint");
  }
  require(
      !role.hosts.empty(),
      "{} started {} processes, but nothing says where process 0 of them runs: set "
      "PADDLE_MASTER to its host and a free port, the same for all, e.g. PADDLE_MASTER=node-1:{}",
      role.started_by.empty() ? "somebody" : role.started_by, role.workers, kStorePort);
  return {role.hosts[0], env::number_or("FLT_STORE_PORT", kStorePort, 1, 65535)};
}

// A host may be known by an address that is not its own, as behind a service of Kubernetes: then
// the store listens on all addresses.
std::unique_ptr<HostedStore> host_store(rpc::StoreServer::Options options, const Endpoint& place,
                                        HostedStore::Expected expected,
                                        const FindStoreOptions& how) {
  options.address = place.text();
  try {
    return std::make_unique<HostedStore>(options, expected, how.patience, how.times);
  } catch (const Error&) {
    options.address = Endpoint{"0.0.0.0", place.port}.text();
    try {
      return std::make_unique<HostedStore>(options, expected, how.patience, how.times);
    } catch (const Error&) {
      // The first refusal names the address that the user knows.
    }
    throw;
  }
}

// Refuses a list with a host that there is not: whoever should run there would be waited for.
void check_names(const fleet::Role& role, const Endpoint& place, const FindStoreOptions& how) {
  const Clock::time_point until = Clock::now() + std::min(how.patience, rpc::patience_with_names());
  Reminder reminder(how.times);
  int64_t known = 0;
  std::set<std::string> hosts = {place.host};
  for (const auto* list : {&role.worker_endpoints, &role.server_endpoints}) {
    for (const std::string& endpoint : *list) hosts.insert(host_of(endpoint));
  }
  for (const std::string& host : hosts) {
    const auto listen = [&] {
      if (reminder.due()) {
        log::info("waiting for the host name \"{}\" to resolve; {} of {} have", host, known,
                  hosts.size());
      }
      if (how.while_waiting) how.while_waiting();
      return false;
    };
    rpc::Name found = rpc::look_up(host, listen);
    for (; found == rpc::Name::kUnknown; found = rpc::look_up(host, listen)) {
      require(Clock::now() < until,
              "the endpoints of this job name the host \"{}\", but no host has this name", host);
      listen();
      std::this_thread::sleep_for(kRetry);
    }
    ++known;
    if (found == rpc::Name::kUnclear) return;  // each question may take long
  }
}

void wait_until_it_answers(const Endpoint& place, const FindStoreOptions& how) {
  const milliseconds patience = how.patience;
  const Clock::time_point began = Clock::now();
  Reminder reminder(how.times);
  const auto listen = [&] {
    if (how.while_waiting) how.while_waiting();
    return false;
  };
  while (true) {
    const rpc::Dialed dialed = rpc::dial(place, std::min(patience, kDial), listen);
    if (dialed.ok()) return;
    const Clock::time_point now = Clock::now();
    if (now - began >= patience) {
      throw Error(
          ErrorKind::kUnavailable,
          fmt::format("the first process of the job does not answer at {} after {:.0f} s: {}. "
                      "Is it running, and does a firewall let this port through?",
                      place.text(), std::chrono::duration<double>(patience).count(),
                      dialed.problem));
    }
    if (reminder.due()) {
      log::info("waiting for the first process of the job at {}: {}", place.text(), dialed.problem);
    }
    listen();
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace

// What has happened, as the server's threads and whoever ends it tell.
struct HostedStore::Seen {
  Mutex mutex;
  std::set<std::pair<std::string, int64_t>> came FLT_GUARDED_BY(mutex);
  std::optional<Clock::time_point> loss FLT_GUARDED_BY(mutex);
  std::optional<Clock::time_point> ended FLT_GUARDED_BY(mutex);

  void note(Happening what, const rpc::Member& member) {
    const MutexLock lock(mutex);
    if (what == Happening::kJoined) came.emplace(member.role, member.rank);
    if (what == Happening::kLost && !loss) loss = Clock::now();
  }
  // False: it had ended before.
  bool end() {
    const MutexLock lock(mutex);
    if (ended) return false;
    ended = Clock::now();
    return true;
  }
  // "worker 1", ...: those that have not come, while they are waited for.
  std::vector<std::string> missing(const Expected& expected) {
    const MutexLock lock(mutex);
    std::vector<std::string> names;
    if (ended) return names;
    const auto look = [&](const char* role, int64_t count) FLT_REQUIRES(mutex) {
      for (int64_t rank = 0; rank < count; ++rank) {
        if (!came.contains({role, rank})) names.push_back(fmt::format("{} {}", role, rank));
      }
    };
    look("server", expected.servers);
    look("worker", expected.workers);
    return names;
  }
  struct Now {
    int64_t came = 0;
    std::optional<Clock::time_point> loss = {};   // of the first
    std::optional<Clock::time_point> ended = {};  // this process was asked to end
  };
  Now get() {
    const MutexLock lock(mutex);
    return {std::ssize(came), loss, ended};
  }
};

HostedStore::HostedStore(rpc::StoreServer::Options options, Expected expected,
                         milliseconds patience, Reminder::Times times)
    : expected_(expected),
      reminder_(times),
      until_(Clock::now() + patience),
      seen_(std::make_unique<Seen>()) {
  options.stop_when_lost = true;
  options.on_event = [seen = seen_.get()](Happening what, const rpc::Member& member) {
    seen->note(what, member);
  };
  server_.emplace(std::move(options));
}

void HostedStore::end(const std::string& reason) {
  if (!seen_->end()) return;
  const int64_t came = seen_->get().came;
  log::info("{}: the store of the job ends with this process, {} of {} processes had come", reason,
            came, expected_.workers + expected_.servers);
  server_->stop(reason);
}

void HostedStore::remind() {
  const std::vector<std::string> missing = seen_->missing(expected_);
  if (missing.empty() || !reminder_.due()) return;
  constexpr size_t kNamed = 8;
  const int64_t all = expected_.workers + expected_.servers;
  log::info(
      "waiting for {}{}: {} of {} processes of the job have joined; start the others with the "
      "same list of endpoints",
      fmt::join(missing.begin(), missing.begin() + std::min(missing.size(), kNamed), ", "),
      missing.size() > kNamed ? ", ..." : "", all - std::ssize(missing), all);
}

HostedStore::~HostedStore() {
  Reminder reminder;
  const int64_t expected = expected_.workers + expected_.servers;
  while (true) {
    const Clock::time_point now = Clock::now();
    const int64_t there = std::ssize(server_->members());
    const auto [came, loss, ended] = seen_->get();
    if (loss && now - *loss >= kGoodbye) break;
    if (ended && now - *ended >= kAskedToEnd) break;
    const bool nobody_comes = came >= expected || loss || ended || now >= until_;
    if (nobody_comes && there == 0) break;
    if (reminder.due()) {
      log::info(
          "this process is done, but hosts the store of the job: {} processes are still there, {} "
          "have not come",
          there, expected - came);
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
}

std::vector<std::string> hosts_of_job(const fleet::Role& role, const std::string& here) {
  if (role.hosts.empty() && role.worker_endpoints.empty()) return {};
  std::set<std::string> hosts(role.hosts.begin(), role.hosts.end());
  for (const auto* list : {&role.worker_endpoints, &role.server_endpoints}) {
    for (const std::string& endpoint : *list) hosts.insert(host_of(endpoint));
  }
  hosts.insert({here, "127.0.0.1"});
  return {hosts.begin(), hosts.end()};
}

std::optional<FoundStore> find_store(const fleet::Role& role, const FindStoreOptions& options) {
  if (!role.distributed()) return std::nullopt;
  const Endpoint place = place_of(role);
  check_names(role, place, options);
  const std::optional<std::string> secret = rpc::job_secret();
  const std::vector<std::string> hosts = hosts_of_job(role, place.host);
  const std::string who = hosts.empty()
                              ? fmt::format("any user of any host that reaches {}", place.text())
                              : fmt::format("any user of {}", fmt::join(hosts, ", "));
  const std::string warning = secret ? "" : rpc::without_secret(who);
  FoundStore found{.address = place.text(),
                   .token = secret.value_or("job " + env::text_or("PADDLE_JOB_ID", "default"))};
  if (!hosts_it(role)) {
    wait_until_it_answers(place, options);
    return found;
  }
  rpc::StoreServer::Options settings{.token = found.token};
  if (options.while_waiting) {
    settings.stop = [&options] {
      options.while_waiting();
      return false;
    };
  }
  if (!secret) {
    settings.only_from = hosts;
    log::write_warning(warning);
  }
  found.host =
      host_store(settings, place, {.workers = role.workers, .servers = role.servers()}, options);
  // Where it listens on all addresses it is here, too.
  if (host_of(found.host->server().address()) == "0.0.0.0") {
    found.address = Endpoint{"127.0.0.1", place.port}.text();
  }
  return found;
}

}  // namespace flotilla::job
