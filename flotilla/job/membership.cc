#include "flotilla/job/membership.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
#include <utility>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/base/thread.h"

namespace flotilla::job {
namespace {

using std::chrono::milliseconds;
using Clock = Progress::Clock;

// How often a process looks at what it does, and how often it tells. A wait is told sooner, once it
// has taken kLook: it may be what the others will be asked about.
constexpr milliseconds kLook{100};
constexpr milliseconds kTell{500};

// How much longer than its launcher a process waits for a store that is silent.
constexpr milliseconds kLauncherFirst{2000};

double seconds_of(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

// When this process began: the 22nd field of its line in /proc, in ticks since the machine did.
Clock::time_point process_began() {
  std::ifstream file("/proc/self/stat");
  const std::string line(std::istreambuf_iterator<char>(file), {});
  const size_t name_end = line.rfind(')');  // a name may hold blanks
  if (name_end == std::string::npos) return Clock::now();
  size_t at = name_end + 2;  // field 3
  for (int field = 3; field < 22 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
  if (at == std::string::npos) return Clock::now();
  const double ticks = std::strtod(line.c_str() + at, nullptr);
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double since_boot =
      static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  const double age = since_boot - ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  return Clock::now() -
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(age));
}

const char* name_of(Progress::Mark mark) {
  switch (mark) {
    case Progress::Mark::kImported:
      return "import";
    case Progress::Mark::kJoined:
      return "join";
    case Progress::Mark::kFirstStep:
      return "first step";
    case Progress::Mark::kAlone:
      return "alone";
  }
  return "";
}

// Where others reach this process.
std::string own_host(const fleet::Role& role) {
  const std::string endpoint =
      role.endpoint.empty() ? env::text_or("PADDLE_CURRENT_ENDPOINT", "") : role.endpoint;
  if (!endpoint.empty()) return endpoint.substr(0, endpoint.rfind(':'));
  if (const std::optional<std::string> pod = env::text("POD_IP")) return *pod;
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

std::unique_ptr<Membership> Membership::join(const fleet::Role& role, const Progress* progress,
                                             Interrupts interrupts) {
  constexpr int64_t kMost = int64_t{1} << 31;
  rpc::Member self{.role = role.is_server() ? "server" : "worker",
                   .rank = role.index,
                   .host = own_host(role),
                   .pid = getpid()};
  if (const std::optional<std::string> address = env::text("FLT_STORE")) {
    require(find_endpoint(*address).has_value(), "FLT_STORE must be host:port, but is \"{}\"",
            *address);
    self.role = env::text_or("FLT_ROLE", "worker");
    self.rank = env::number_or("FLT_RANK", 0, 0, kMost);
    self.attempt = env::number_or("FLT_ATTEMPT", 0, 0, kMost);
    return std::make_unique<Membership>(Options{.address = *address,
                                                .token = env::text_or("FLT_JOB_TOKEN", ""),
                                                .self = std::move(self),
                                                .progress = progress,
                                                .interrupted = std::move(interrupts.interrupted),
                                                .launched = true});
  }
  std::optional<FoundStore> found = find_store(role, {.while_waiting = interrupts.while_waiting});
  if (!found) return nullptr;
  return std::make_unique<Membership>(Options{.address = std::move(found->address),
                                              .token = std::move(found->token),
                                              .self = std::move(self),
                                              .progress = progress,
                                              .interrupted = std::move(interrupts.interrupted),
                                              .host = std::move(found->host)});
}

Membership::Membership(Options options) : options_(std::move(options)) {
  store_ = std::make_unique<rpc::StoreClient>(
      rpc::StoreClient::Options{.address = options_.address,
                                .token = options_.token,
                                .self = options_.self,
                                .patience = options_.patience,
                                .stop = options_.interrupted,
                                .longer = options_.launched ? kLauncherFirst : milliseconds(0),
                                .on_stop = [this](const std::string& why) { hear(why); }});
  if (options_.progress != nullptr || options_.host) {
    watcher_ = start_thread("reports progress", [this] { watch(); });
  }
}

Membership::~Membership() {
  {
    const MutexLock lock(mutex_);
    leaving_ = true;
    changed_.notify_all();
  }
  if (watcher_.joinable()) watcher_.join();
  if (options_.progress != nullptr) store_->report(report());
  store_.reset();  // says goodbye; no listener is called afterwards
}

void Membership::end_store(int signal) {
  if (!options_.host) return;
  options_.host->end(
      fmt::format("{} was asked to end ({})", rpc::name_of(options_.self), strsignal(signal)));
}

void Membership::abandon(const std::string& reason) { store_->cancel(reason); }

void Membership::hear(const std::string& reason) {
  const MutexLock lock(mutex_);
  stopped_ = reason;
  for (const auto& [id, heard] : listeners_) heard(reason);
}

std::string Membership::stopped() const {
  const MutexLock lock(mutex_);
  return stopped_;
}

Membership::Listening Membership::on_stop(Heard heard) {
  const MutexLock lock(mutex_);
  if (!stopped_.empty()) heard(stopped_);
  const int64_t id = ++last_id_;
  listeners_[id] = std::move(heard);
  return {*this, id};
}

Membership::Listening& Membership::Listening::operator=(Listening&& other) noexcept {
  std::swap(membership_, other.membership_);
  std::swap(id_, other.id_);
  return *this;
}

Membership::Listening::~Listening() {
  if (membership_ == nullptr) return;
  const MutexLock lock(membership_->mutex_);
  membership_->listeners_.erase(id_);
}

rpc::Report Membership::report() const {
  static const Clock::time_point began = process_began();
  const Progress::Now now = options_.progress->now();
  const Clock::time_point moment = Clock::now();
  rpc::Report report{.step = now.steps, .age = seconds_of(moment - began)};
  if (*now.doing != '\0') {
    report.doing = now.detail < 0 ? now.doing : fmt::format("{} {}", now.doing, now.detail);
    report.for_others =
        now.kind == Progress::Kind::kCommunication || now.kind == Progress::Kind::kBarrier;
  }
  if (now.since != Clock::time_point()) report.doing_seconds = seconds_of(moment - now.since);
  for (size_t i = 0; i < Progress::kKinds; ++i) {
    report.seconds[flotilla::name_of(static_cast<Progress::Kind>(i))] = seconds_of(now.spent[i]);
  }
  for (size_t i = 0; i < Progress::kMarks; ++i) {
    if (now.marks[i] == Clock::time_point()) continue;
    report.reached[name_of(static_cast<Progress::Mark>(i))] = seconds_of(now.marks[i] - began);
  }
  return report;
}

void Membership::tell(Told& told) const {
  rpc::Report now = report();
  const bool moved = now.step != told.report.step || now.doing != told.report.doing;
  const bool waits = !now.doing.empty() && now.doing_seconds >= seconds_of(kLook);
  if (!moved || (!waits && Clock::now() - told.when < kTell)) return;
  store_->report(now);
  told = {std::move(now), Clock::now()};
}

void Membership::watch() {
  Told told;
  bool interrupted = false;
  while (true) {
    if (options_.host) options_.host->remind();
    if (!interrupted && options_.interrupted && options_.interrupted()) {
      interrupted = true;
      const std::string why = fmt::format("{}: Ctrl-C was pressed", kInterrupted);
      abandon(why);
      hear(why);
    }
    MutexLock lock(mutex_);
    if (leaving_) return;
    if (options_.progress != nullptr) tell(told);
    changed_.wait_until(lock, Clock::now() + kLook);
    if (leaving_) return;
  }
}

}  // namespace flotilla::job
