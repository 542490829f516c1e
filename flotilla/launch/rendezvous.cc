#include "flotilla/launch/rendezvous.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <set>
#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/printable.h"
#include "flotilla/base/thread.h"
#include "flotilla/launch/output_writer.h"
#include "flotilla/launch/ports.h"
#include "flotilla/launch/print.h"
#include "flotilla/rpc/job_token.h"
#include "flotilla/rpc/store_client.h"
#include "flotilla/rpc/store_server.h"

namespace flotilla::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr seconds kGoodbye{5};
constexpr seconds kSilence{10};  // of whoever holds the master's port on this machine
constexpr milliseconds kRetry{250};
constexpr const char* kArrived = "master/arrived/";
constexpr const char* kAnswer = "master/answer/";
constexpr const char* kRead = "master/read/";

std::string who(const Arrived& host) {
  return fmt::format("{} (pid {})", host.address(), host.pid());
}

void say(OutputWriter& writer, const JobOptions& options, const char* level,
         const std::string& text) {
  // Names of hosts among it come from whoever has connected.
  if (!options.quiet) writer.write(STDERR_FILENO, log_line(level, printable(text)));
}

// Not the token of the job, which listens at the same place afterwards: who comes late must not be
// taken for one of its processes. Without a secret it keeps nobody out.
std::string meeting_token() { return "meeting " + rpc::job_secret().value_or("flotilla"); }

Arrived arrived(const JobOptions& options, const Job& job) {
  Arrived host;
  host.set_name(rpc::new_token());
  host.set_address(job.hosts[0]);
  host.set_pid(getpid());
  host.set_rank(options.rank.value_or(-1));
  host.set_nnodes(*options.nnodes);
  host.set_job_id(options.job_id);
  host.set_with_servers(job.mode == Mode::kServers);
  for (const Endpoint& each : job.endpoints.servers) host.add_servers(each.text());
  for (const Endpoint& each : job.endpoints.workers) host.add_workers(each.text());
  for (const Endpoint& each : job.endpoints.heters) host.add_heters(each.text());
  return host;
}

rpc::StoreClient::Options client_options(const JobOptions& options, const Arrived& self,
                                         const char* role) {
  return {.address = *options.master,
          .token = meeting_token(),
          // Hosts have no ranks yet: any number that no other has.
          .self = {.role = role,
                   .rank = std::stoll(self.name().substr(0, 15), nullptr, 16),
                   .host = self.address(),
                   .pid = self.pid()},
          .patience = kRetry};
}

// The master's side.
class Master {
 public:
  Master(OutputWriter& writer, const JobOptions& options, const Arrived& self)
      : writer_(writer),
        options_(options),
        gathering_(options, self),
        client_(client_options(options, self, "master")) {
    client_.watch(kArrived,
                  [this](const std::string& key, const std::optional<std::string>& value) {
                    const MutexLock lock(mutex_);
                    news_.emplace_back(key, value);
                    changed_.notify_all();
                  });
  }

  Answer gather() {
    while (!gathering_.full() && !(gathering_.enough() && Clock::now() >= late_)) {
      take_news();
      if (gathering_.enough() && late_ == Clock::time_point::max()) {
        const auto patience = std::chrono::duration<double>(options_.elastic_timeout);
        late_ = Clock::now() + std::chrono::duration_cast<milliseconds>(patience);
      }
    }
    Answer answer;
    try {
      for (Arrived& host : gathering_.ranked()) *answer.add_hosts() = std::move(host);
    } catch (const Error& error) {
      refuse_all(error.sentence());
    }
    answer.set_token(rpc::job_secret().value_or(rpc::new_token()));
    tell_all(answer);
    return answer;
  }

 private:
  // Waits for news, at most until something else must be done.
  void take_news() {
    std::deque<std::pair<std::string, std::optional<std::string>>> news;
    {
      MutexLock lock(mutex_);
      const auto until = std::min(late_, reminder_.next());
      while (news_.empty() && changed_.wait_until(lock, until)) continue;
      news.swap(news_);
    }
    const size_t here = gathering_.arrived().size();
    for (const auto& [key, value] : news) {
      if (!value) {
        gathering_.remove(key.substr(std::string_view(kArrived).size()));
        continue;
      }
      Arrived host;
      if (host.ParseFromString(*value)) judge(host);
    }
    if (!gathering_.enough()) late_ = Clock::time_point::max();
    // Whoever reads the lines hears of every host that comes.
    const bool grown = reminded_ && gathering_.arrived().size() != here;
    if (reminder_.due() || grown) remind();
  }

  void judge(const Arrived& host) {
    const Gathering::Verdict verdict = gathering_.add(host);
    if (verdict.refusal.empty()) return;
    if (verdict.ends_all) refuse_all(verdict.refusal, {host.name()});
    Answer answer;
    answer.set_refusal(verdict.refusal);
    client_.set(kAnswer + host.name(), answer.SerializeAsString());
    say(writer_, options_, "WARNING",
        fmt::format("host {} was rejected: {}", who(host), verdict.refusal));
  }

  void remind() {
    reminded_ = true;
    std::vector<std::string> here;
    for (const Arrived& host : gathering_.arrived()) here.push_back(host.address());
    say(writer_, options_, "INFO",
        fmt::format("waiting for {} hosts to join at {}; {} have joined: {}", *options_.nnodes,
                    *options_.master, here.size(), fmt::join(here, ", ")));
  }

  // To all but the master itself, and those in `names` too, until they have read it.
  void tell_all(const Answer& answer, std::vector<std::string> names = {}) {
    for (size_t i = 1; i < gathering_.arrived().size(); ++i) {
      names.push_back(gathering_.arrived()[i].name());
    }
    for (const std::string& name : names) client_.set(kAnswer + name, answer.SerializeAsString());
    const auto deadline = Clock::now() + kGoodbye;
    for (const std::string& name : names) {
      while (!client_.find(kRead + name) && Clock::now() < deadline) {
        std::this_thread::sleep_for(milliseconds(5));
      }
    }
  }

  [[noreturn]] void refuse_all(const std::string& why, std::vector<std::string> names = {}) {
    Answer answer;
    answer.set_refusal(why);
    tell_all(answer, std::move(names));
    refuse("{}", why);
  }

  OutputWriter& writer_;
  const JobOptions& options_;
  Gathering gathering_;
  Reminder reminder_;
  bool reminded_ = false;
  Clock::time_point late_ = Clock::time_point::max();  // when late hosts are no longer waited for
  Mutex mutex_;
  Condition changed_;
  std::deque<std::pair<std::string, std::optional<std::string>>> news_ FLT_GUARDED_BY(mutex_);
  rpc::StoreClient client_;  // the last: its thread brings the news
};

// Tells now and then how many have come.
std::string wait_for_answer(OutputWriter& writer, const JobOptions& options,
                            rpc::StoreClient& client, const std::string& key) {
  const auto hosts = std::make_shared<std::atomic<int64_t>>(1);  // the master
  client.watch(kArrived, [hosts](const std::string&, const std::optional<std::string>& value) {
    *hosts += value ? 1 : -1;
  });
  std::packaged_task<std::string()> ask([&] { return client.get(key); });
  std::future<std::string> answer = ask.get_future();
  const std::jthread asking = start_thread("asks the master", [&] { ask(); });
  Reminder reminder;
  while (answer.wait_until(reminder.next()) != std::future_status::ready) {
    if (!reminder.due()) continue;
    say(writer, options, "INFO",
        fmt::format("waiting for {} hosts to join at {}; {} have joined, including this one",
                    *options.nnodes, *options.master, hosts->load()));
  }
  return answer.get();
}

// The other hosts' side. Nothing: no master answers.
std::optional<Answer> ask_master(OutputWriter& writer, const JobOptions& options,
                                 const Arrived& self) {
  std::promise<void> closed;
  std::optional<rpc::StoreClient> client;
  try {
    rpc::StoreClient::Options settings = client_options(options, self, "host");
    settings.on_stop = [&](const std::string&) { closed.set_value(); };
    client.emplace(std::move(settings));
  } catch (const Error& error) {
    require(error.sentence().find("FLT_JOB_TOKEN") == std::string::npos,
            "the job at {} has started without this host, or has another FLT_JOB_TOKEN",
            *options.master);
    if (error.kind() != ErrorKind::kUnavailable) throw;
    return std::nullopt;
  }
  Answer answer;
  try {
    client->set_leased(kArrived + self.name(), self.SerializeAsString());
    answer.ParseFromString(wait_for_answer(writer, options, *client, kAnswer + self.name()));
  } catch (const Error& error) {
    refuse("the host with the address {} was lost before the job started: {}", *options.master,
           error.sentence());
  }
  client->expect_end();
  try {
    client->set(kRead + self.name(), "");
  } catch (const Error&) {
    // With this word the master may go, before it has answered.
  }
  require(answer.refusal().empty(), "{}", printable(answer.refusal()));
  // What listens there from now on is the store of the job.
  closed.get_future().wait_for(kGoodbye);
  return answer;
}

void say_who_is_waited_for(OutputWriter& writer, const JobOptions& options, bool unknown) {
  say(writer, options, "INFO",
      fmt::format("waiting for the host with the address {}{}", *options.master,
                  unknown ? ", a name that cannot be resolved" : ""));
}

// Whether connections to the address end here.
bool is_here(const Machine& machine, const std::string& host) {
  if (machine.is(host)) return true;
  try {
    return address_towards(host) == host;
  } catch (const Error&) {
    return false;  // the resolver or the network may be away for a moment
  }
}

// Where this host serves the store, if the master's address is its own and free.
std::unique_ptr<rpc::StoreServer> become_master(const JobOptions& options, const Machine& machine,
                                                std::string& serve_at) {
  const Endpoint master = *find_endpoint(*options.master);
  std::vector<std::string> places;
  if (is_here(machine, master.host)) {
    places.push_back(master.text());
  } else if (options.rank == 0) {
    // Known by an address that is not its own, as behind a service of Kubernetes.
    places.push_back(Endpoint{"0.0.0.0", master.port}.text());
  }
  for (const std::string& place : places) {
    try {
      auto server = std::make_unique<rpc::StoreServer>(
          rpc::StoreServer::Options{.address = place, .token = meeting_token()});
      serve_at = place;
      return server;
    } catch (const Error&) {
      // Another launcher of this machine has it.
    }
  }
  return nullptr;
}

Answer meet(const JobOptions& options, const Machine& machine, const Arrived& self,
            std::string& serve_at) {
  OutputWriter writer;
  Reminder reminder;
  const Clock::time_point silent = Clock::now() + kSilence;
  const Endpoint master = *find_endpoint(*options.master);
  const std::string who = fmt::format("any user of any host that reaches {}", *options.master);
  const std::string warning = rpc::job_secret() ? "" : rpc::without_secret(who);
  while (true) {
    if (const auto server = become_master(options, machine, serve_at)) {
      if (!warning.empty()) say(writer, options, "WARNING", warning);
      return Master(writer, options, self).gather();
    }
    if (std::optional<Answer> answer = ask_master(writer, options, self)) return *answer;
    if (machine.is(master.host) && Clock::now() >= silent) {
      const std::string holder = holder_of(master.port);
      require(holder.empty(),
              "the hosts cannot meet at {}: the port is used by {}, which is not a launcher",
              *options.master, holder);
    }
    if (reminder.due()) {
      say_who_is_waited_for(writer, options, rpc::look_up(master.host) != rpc::Name::kKnown);
    }
  }
}

void append(std::vector<Endpoint>& all,
            const google::protobuf::RepeatedPtrField<std::string>& more) {
  for (const std::string& text : more) all.push_back(*find_endpoint(text));
}

}  // namespace

Gathering::Gathering(const JobOptions& options, Arrived first)
    : count_(options.hosts()), arrived_{std::move(first)} {}

Gathering::Verdict Gathering::add(const Arrived& host) {
  const Arrived& master = arrived_.front();
  if (host.job_id() != master.job_id()) {
    return {
        fmt::format("host {} asks for the job \"{}\", but this is the job \"{}\": give every host "
                    "the same --job_id",
                    who(host), host.job_id(), master.job_id())};
  }
  if (host.nnodes() != master.nnodes()) {
    return {fmt::format("host {} has --nnodes {}, but host {} has --nnodes {}: give every host the "
                        "same",
                        who(host), host.nnodes(), who(master), master.nnodes()),
            true};
  }
  if (host.with_servers() != master.with_servers()) {
    const auto kind = [](const Arrived& h) {
      return h.with_servers() ? "one with parameter servers" : "a collective job";
    };
    return {fmt::format("host {} starts {}, but host {} {}: give every host the same command",
                        who(host), kind(host), who(master), kind(master)),
            true};
  }
  if (full()) {
    return {fmt::format("host {} is one too many: all {} hosts of the job have joined", who(host),
                        arrived_.size())};
  }
  for (const Arrived& there : arrived_) {
    if (host.rank() >= 0 && host.rank() == there.rank()) {
      return {fmt::format("rank {} is taken by host {}; {} is a second copy of it", host.rank(),
                          who(there), who(host))};
    }
  }
  arrived_.push_back(host);
  return {};
}

void Gathering::remove(const std::string& name) {
  std::erase_if(arrived_, [&](const Arrived& host) { return host.name() == name; });
}

bool Gathering::enough() const { return std::ssize(arrived_) >= count_.least; }
bool Gathering::full() const { return std::ssize(arrived_) >= count_.most; }

std::vector<Arrived> Gathering::ranked() const {
  std::vector<Arrived> hosts(arrived_.size());
  std::set<size_t> taken;
  for (const Arrived& host : arrived_) {
    if (host.rank() < 0) continue;
    require(host.rank() < std::ssize(hosts), "host {} has --rank {}, but only {} hosts joined",
            who(host), host.rank(), hosts.size());
    hosts[static_cast<size_t>(host.rank())] = host;
    taken.insert(static_cast<size_t>(host.rank()));
  }
  size_t next = 0;
  for (const Arrived& host : arrived_) {
    if (host.rank() >= 0) continue;
    while (taken.contains(next)) ++next;
    hosts[next++] = host;
  }
  return hosts;
}

void wait_for_name_of_master(const JobOptions& options, const NameWait& wait) {
  if (!options.master || options.hosts().most == 1) return;
  const std::string host = host_of(*options.master);
  OutputWriter writer;
  Reminder reminder(wait.times);
  const Clock::time_point until = Clock::now() + wait.patience;
  for (rpc::Name name = rpc::look_up(host); name != rpc::Name::kKnown; name = rpc::look_up(host)) {
    if (reminder.due()) say_who_is_waited_for(writer, options, /*unknown=*/true);
    require(name == rpc::Name::kUnclear || Clock::now() < until,
            "the hosts meet at --master {}, but the name \"{}\" cannot be resolved",
            *options.master, host);
    std::this_thread::sleep_for(kRetry);
  }
}

void join_master(const JobOptions& options, const Machine& machine, Job& job) {
  if (!options.master || options.hosts().most == 1) return;
  const Arrived self = arrived(options, job);
  const Answer answer = meet(options, machine, self, job.serve_at);
  job.store = *options.master;
  job.token = answer.token();
  job.hosts.clear();
  job.endpoints = {};
  for (const Arrived& host : answer.hosts()) {
    if (host.name() == self.name()) {
      job.host = std::ssize(job.hosts);
      for (Process& process : job.processes) {
        const auto& [servers, workers, heters] = job.endpoints;
        process.rank += std::ssize(process.role == "server"   ? servers
                                   : process.role == "worker" ? workers
                                                              : heters);
      }
    }
    job.hosts.push_back(host.address());
    append(job.endpoints.servers, host.servers());
    append(job.endpoints.workers, host.workers());
    append(job.endpoints.heters, host.heters());
  }
  describe_processes(job);
}

}  // namespace flotilla::launch
