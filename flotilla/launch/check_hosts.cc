#include "flotilla/launch/check_hosts.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <sstream>
#include <thread>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/printable.h"
#include "flotilla/base/thread.h"
#include "flotilla/launch/ports.h"
#include "flotilla/rpc/dial.h"

namespace flotilla::launch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr const char* kGreeting = "flotilla check";
constexpr milliseconds kDialPatience{2000};
constexpr milliseconds kRetry{100};
constexpr milliseconds kSharing{2000};  // of the time, for telling each other
constexpr int kPings = 5;
constexpr int64_t kTalks = 16;  // at a time, and some for each host
constexpr size_t kLongestLine = 1 << 16;

milliseconds left_until(Clock::time_point when) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(when - Clock::now()));
}

// Lines over a socket, until a deadline.
class Lines {
 public:
  Lines(const Fd& socket, Clock::time_point deadline) : socket_(socket), deadline_(deadline) {}

  void wait_until(Clock::time_point deadline) { deadline_ = deadline; }

  bool write(const std::string& text) {
    for (size_t sent = 0; sent < text.size();) {
      const ssize_t n = ::send(socket_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return false;
      sent += static_cast<size_t>(n);
    }
    return true;
  }

  std::optional<std::string> read() {
    while (true) {
      if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return printable(line);  // anybody may have written it
      }
      pollfd waiting = {socket_.get(), POLLIN, 0};
      const int patience = static_cast<int>(left_until(deadline_).count());
      if (buffer_.size() > kLongestLine || ::poll(&waiting, 1, patience) <= 0) return std::nullopt;
      char bytes[4096];
      const ssize_t n = ::recv(socket_.get(), bytes, sizeof bytes, 0);
      if (n <= 0) return std::nullopt;
      buffer_.append(bytes, static_cast<size_t>(n));
    }
  }

 private:
  const Fd& socket_;
  Clock::time_point deadline_;
  std::string buffer_;
};

// What this host knows. Shared with threads that may still wait for a name server when the time is
// over.
struct Known {
  explicit Known(CheckHostsOptions said)
      : options(std::move(said)),
        all_by(Clock::now() + milliseconds(static_cast<int64_t>(options.seconds * 1000))),
        own_by(all_by - std::min(kSharing, left_until(all_by) / 2)) {}

  const CheckHostsOptions options;
  const Clock::time_point all_by;  // the end
  const Clock::time_point own_by;  // the end of dialing
  Listener listener = {};
  Mutex mutex = {};
  Condition changed = {};
  std::map<std::pair<std::string, std::string>, Way> ways FLT_GUARDED_BY(mutex) = {};
  std::map<std::string, std::string> lists FLT_GUARDED_BY(mutex) = {};  // of others
  int64_t talking FLT_GUARDED_BY(mutex) = 0;

  const std::string& self() const { return options.hosts[static_cast<size_t>(options.self)]; }
  std::string list() const { return fmt::format("{}", fmt::join(options.hosts, ",")); }
  size_t others() const { return options.hosts.size() - 1; }

  void note(const Way& way) {
    const MutexLock lock(mutex);
    ways[{way.from, way.to}] = way;
    changed.notify_all();
  }
  void note_list(const std::string& host, const std::string& theirs) {
    const MutexLock lock(mutex);
    lists[host] = theirs;
  }
  bool knows_own() FLT_REQUIRES(mutex) {
    return static_cast<size_t>(std::count_if(ways.begin(), ways.end(), [&](const auto& entry) {
             return entry.first.first == self() && entry.second.problem.empty();
           })) == others();
  }
  // Each talk is a thread, and anybody may begin one.
  bool busy() {
    const MutexLock lock(mutex);
    return talking >= kTalks + 4 * std::ssize(options.hosts);
  }
  // What this host found, once nothing is open.
  std::string own_ways() {
    MutexLock lock(mutex);
    while (!knows_own() && changed.wait_until(lock, own_by)) continue;
    std::string text;
    int64_t count = 0;
    for (const auto& [ends, way] : ways) {
      if (ends.first != self()) continue;
      text += text_of(way) + "\n";
      ++count;
    }
    return fmt::format("ways {}\n{}", count, text);
  }
};

bool read_ways(Known& known, Lines& lines) {
  const std::optional<std::string> head = lines.read();
  int64_t count = 0;
  if (!head || std::sscanf(head->c_str(), "ways %ld", &count) != 1) return false;
  for (int64_t i = 0; i < std::min<int64_t>(count, 65536); ++i) {
    const std::optional<std::string> line = lines.read();
    const std::optional<Way> way = line ? parse_way(*line) : std::nullopt;
    if (!way) return false;
    if (way->from != known.self()) known.note(*way);
  }
  return true;
}

// Why the talk failed; "": it went well. The way is noted as soon as it is known to work.
std::string talk_to(Known& known, const Fd& socket, const std::string& to) {
  Lines lines(socket, known.all_by);
  lines.write(fmt::format("{}\n{}\n{}\n", kGreeting, known.self(), known.list()));
  const std::optional<std::string> name = lines.read();
  const std::optional<std::string> list = name ? lines.read() : std::nullopt;
  if (!list) {
    return fmt::format("another program listens on its port {}", known.options.port);
  }
  if (*name != to) return fmt::format("the host that answers considers itself {}", *name);
  double fastest = 1e9;
  for (int i = 0; i < kPings; ++i) {
    const Clock::time_point began = Clock::now();
    if (!lines.write("ping\n") || !lines.read()) return "its connection was closed";
    fastest = std::min(fastest, std::chrono::duration<double>(Clock::now() - began).count());
  }
  known.note_list(to, *list);
  known.note({known.self(), to, fastest, ""});
  if (lines.write(known.own_ways())) read_ways(known, lines);
  return "";
}

void dial_until_it_answers(Known& known, const std::string& to) {
  while (true) {
    const milliseconds left = left_until(known.own_by);
    const rpc::Dialed dialed = rpc::dial({to, known.options.port}, std::min(left, kDialPatience));
    const std::string problem = dialed.ok() ? talk_to(known, dialed.socket, to) : dialed.problem;
    if (problem.empty()) return;
    known.note({known.self(), to, 0, problem});
    if (Clock::now() + kRetry >= known.own_by) return;
    std::this_thread::sleep_for(kRetry);
  }
}

void answer(Known& known, const Fd& socket) {
  Lines lines(socket, std::min(known.all_by, Clock::now() + kDialPatience));
  const std::optional<std::string> greeting = lines.read();
  const std::optional<std::string> name = greeting ? lines.read() : std::nullopt;
  const std::optional<std::string> list = name ? lines.read() : std::nullopt;
  if (!list || *greeting != kGreeting) return;
  lines.wait_until(known.all_by);
  known.note_list(*name, *list);
  lines.write(fmt::format("{}\n{}\n", known.self(), known.list()));
  for (int i = 0; i < kPings; ++i) {
    if (!lines.read() || !lines.write("ping\n")) return;
  }
  if (read_ways(known, lines)) lines.write(known.own_ways());
}

// Runs in a thread of its own, which nobody waits for beyond the end.
template <typename Function>
void start(const std::shared_ptr<Known>& known, Function function) {
  {
    const MutexLock lock(known->mutex);
    ++known->talking;
  }
  start_thread<std::thread>("talks to a host", [known, function = std::move(function)]() mutable {
    function(*known);
    const MutexLock lock(known->mutex);
    --known->talking;
    known->changed.notify_all();
  }).detach();
}

void accept_until_the_end(const std::shared_ptr<Known>& known) {
  start_thread<std::thread>("answers other hosts", [known] {
    while (Clock::now() < known->all_by) {
      pollfd waiting = {known->listener.socket.get(), POLLIN, 0};
      const int patience = static_cast<int>(left_until(known->all_by).count());
      if (::poll(&waiting, 1, patience) <= 0) continue;
      if (known->busy()) {
        std::this_thread::sleep_for(kRetry);
        continue;
      }
      const int accepted = ::accept4(known->listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (accepted < 0) {
        std::this_thread::sleep_for(kRetry);
        continue;
      }
      start(known, [socket = std::make_shared<Fd>(accepted)](Known& k) { answer(k, *socket); });
    }
  }).detach();
}

// A sentence where another host's list is not this one's.
std::string compare(const Known& known, const std::string& host, const std::string& list) {
  if (list == known.list()) return "";
  std::vector<std::string> theirs = split_list(list), ours = known.options.hosts;
  std::sort(theirs.begin(), theirs.end());
  std::sort(ours.begin(), ours.end());
  return fmt::format("host {} has {}: {}, but host {} has {}", host,
                     theirs == ours ? "the list in another order" : "another list", list,
                     known.self(), known.list());
}

CheckHostsReport report_of(Known& known) {
  const MutexLock lock(known.mutex);
  CheckHostsReport report;
  for (const std::string& from : known.options.hosts) {
    for (const std::string& to : known.options.hosts) {
      if (from == to) continue;
      const auto found = known.ways.find({from, to});
      report.ways.push_back(found != known.ways.end()
                                ? found->second
                                : Way{from, to, 0, "not known: " + from + " did not report"});
    }
  }
  for (const auto& [host, list] : known.lists) {
    if (std::string why = compare(known, host, list); !why.empty()) {
      report.lists.push_back(std::move(why));
    }
  }
  return report;
}

}  // namespace

std::string text_of(const Way& way) {
  return fmt::format("{} {} {:.9f} {}", way.from, way.to, way.seconds, way.problem);
}

std::optional<Way> parse_way(const std::string& line) {
  std::istringstream words(line);
  Way way;
  if (!(words >> way.from >> way.to >> way.seconds)) return std::nullopt;
  std::getline(words >> std::ws, way.problem);
  return way;
}

bool CheckHostsReport::ok() const {
  return lists.empty() &&
         std::all_of(ways.begin(), ways.end(), [](const Way& way) { return way.problem.empty(); });
}

CheckHostsReport check_hosts(const CheckHostsOptions& options) {
  const auto known = std::make_shared<Known>(options);
  known->listener = listen_on(known->self(), options.port);
  accept_until_the_end(known);
  for (const std::string& host : options.hosts) {
    if (host == known->self()) continue;
    start(known, [host](Known& k) { dial_until_it_answers(k, host); });
  }
  {
    // Done when every way is known to work, and everyone has been told.
    const size_t all = options.hosts.size() * known->others();
    MutexLock lock(known->mutex);
    const auto done = [&]() FLT_REQUIRES(known->mutex) {
      return known->ways.size() == all && known->knows_own() && known->talking == 0;
    };
    while (!done() && known->changed.wait_until(lock, known->all_by)) continue;
  }
  return report_of(*known);
}

std::string text_of(const CheckHostsReport& report) {
  size_t width = 0;
  for (const Way& way : report.ways) width = std::max(width, way.from.size());
  std::string text, broken;
  for (const Way& way : report.ways) {
    const bool works = way.problem.empty();
    text += fmt::format("{:<{}} -> {:<{}}  {}\n", way.from, width, way.to, width,
                        works ? fmt::format("{:.2f} ms", way.seconds * 1e3) : way.problem);
    if (!works && !way.problem.starts_with("not known")) {
      broken += fmt::format("network: from {} to {}: {}\n", way.from, way.to, way.problem);
    }
  }
  for (const std::string& list : report.lists) {
    broken += fmt::format("list: {}. Give every host the same list in the same order\n", list);
  }
  if (report.ok()) return text + "all hosts reach each other and have the same list\n";
  return text + "\n" + broken;
}

}  // namespace flotilla::launch
