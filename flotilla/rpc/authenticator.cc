#include "flotilla/rpc/authenticator.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/thread.h"
#include "flotilla/rpc/resolve.h"

namespace flotilla::rpc {
namespace {

// Takes as long whatever the difference is.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char different = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    different |= static_cast<unsigned char>(a[i] ^ b[i]);
  }
  return different == 0;
}

bool is_address(const std::string& host) {
  in6_addr ignored = {};
  return ::inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

// "node-1, node-2", and no more than eight of them.
std::string some(const std::vector<std::string>& names) {
  constexpr size_t kNamed = 8;
  const auto end = names.begin() + static_cast<int64_t>(std::min(names.size(), kNamed));
  return fmt::format("{}{}", fmt::join(names.begin(), end, ", "),
                     names.size() > kNamed ? ", ..." : "");
}

}  // namespace

void check_token(std::string_view token) {
  constexpr size_t kMost = 1024;
  require(token.size() <= kMost,
          "the secret of a job (FLT_JOB_TOKEN) may have at most {} bytes, but has {}", kMost,
          token.size());
}

// What is known of the hosts of a job.
struct Authenticator::Hosts : std::enable_shared_from_this<Hosts> {
  Hosts(std::vector<std::string> hosts, Resolve how)
      : names(std::move(hosts)),
        resolve(std::move(how)),
        fixed(std::ranges::all_of(names, is_address)),
        addresses(names.size()) {}

  // Takes as long as the resolver does. A name that it has lost means what it meant.
  void look_up() {
    std::vector<std::vector<std::string>> found;
    for (const std::string& host : names) found.push_back(resolve(host));
    const MutexLock lock(mutex);
    for (size_t i = 0; i < names.size(); ++i) {
      if (!found[i].empty()) addresses[i] = std::move(found[i]);
    }
    looking = false;
    changed.notify_all();
  }

  // On another thread. REQUIRES: no other looks
  void begin() FLT_REQUIRES(mutex) {
    const auto look = [all = shared_from_this()] { all->look_up(); };
    start_thread<std::thread>("looks up hosts", look).detach();
    looking = true;
  }

  // Those that are known at once: whoever has such a name need not ask twice.
  void look_up_first() {
    constexpr std::chrono::milliseconds kMoment{500};
    if (fixed) return look_up();
    const Clock::time_point until = Clock::now() + kMoment;
    MutexLock lock(mutex);
    begin();
    while (looking && changed.wait_until(lock, until)) continue;
  }

  bool has(const std::string& address) const FLT_REQUIRES(mutex) {
    return std::ranges::any_of(addresses, [&](const std::vector<std::string>& each) {
      return std::ranges::find(each, address) != each.end();
    });
  }
  std::vector<std::string> unknown() const FLT_REQUIRES(mutex) {
    std::vector<std::string> found;
    for (size_t i = 0; i < names.size(); ++i) {
      if (addresses[i].empty()) found.push_back(names[i]);
    }
    return found;
  }

  const std::vector<std::string> names;
  const Resolve resolve;
  const bool fixed;  // addresses alone: looking them up again changes nothing

  Mutex mutex;
  Condition changed;
  std::vector<std::vector<std::string>> addresses FLT_GUARDED_BY(mutex);  // of each name
  bool looking FLT_GUARDED_BY(mutex) = false;                             // a thread is
  Clock::time_point began FLT_GUARDED_BY(mutex) = {};                     // to look, the last time
  std::map<std::string, Clock::time_point> asked FLT_GUARDED_BY(mutex);   // first, by address
};

std::vector<std::string> Authenticator::resolve(const std::string& host) {
  std::vector<std::string> addresses;
  const Resolved found = ask_system({.host = host});
  for (const addrinfo* entry = found.addresses.get(); entry != nullptr; entry = entry->ai_next) {
    addresses.push_back(numeric_text(entry->ai_addr, entry->ai_addrlen));
  }
  return addresses;
}

Authenticator::Authenticator(std::string token, std::vector<std::string> only_from, Resolve how)
    : token_(std::move(token)),
      hosts_(only_from.empty() ? nullptr
                               : std::make_shared<Hosts>(std::move(only_from), std::move(how))) {
  check_token(token_);
  if (hosts_) hosts_->look_up_first();
}

Authenticator::Verdict Authenticator::judge(std::string_view token, const std::string& peer,
                                            Clock::time_point now) const {
  constexpr std::chrono::seconds kPause{1};
  constexpr std::chrono::seconds kFresh{5};
  constexpr size_t kMostAsked = 256;
  if (!same_secret(token, token_)) return Verdict::kNoToken;
  if (!hosts_) return Verdict::kWelcome;
  const std::string address = address_in(peer);
  Hosts& hosts = *hosts_;
  const MutexLock lock(hosts.mutex);
  if (hosts.has(address)) return Verdict::kWelcome;
  if (hosts.fixed) return Verdict::kWrongHost;
  if (hosts.asked.size() >= kMostAsked) hosts.asked.clear();
  Clock::time_point& asked = hosts.asked.try_emplace(address, now).first->second;
  const bool looked = !hosts.looking && hosts.began >= asked;
  if (looked && hosts.unknown().empty() && now - hosts.began < kFresh) return Verdict::kWrongHost;
  if (looked) asked = now;  // what was found is old by now
  if (!hosts.looking && now - hosts.began >= kPause) {
    try {
      hosts.begin();
      hosts.began = now;
    } catch (const Error&) {
      // Whoever asks again meets another moment.
    }
  }
  return Verdict::kNotYet;
}

std::string Authenticator::reason(Verdict verdict, const std::string& peer) const {
  if (verdict == Verdict::kWelcome) return "it is welcome";
  if (verdict == Verdict::kNoToken) return "it did not show the job's token";
  if (verdict == Verdict::kWrongHost) {
    return fmt::format(
        "it is not a host of the job: calls are accepted from {}, but it called from {}; add this "
        "host to the lists of the job, or set the same FLT_JOB_TOKEN on every host",
        some(hosts_->names), address_in(peer));
  }
  const MutexLock lock(hosts_->mutex);
  const std::vector<std::string> unknown = hosts_->unknown();
  return fmt::format(
      "calls are accepted from {}, but it called from {}, which is not yet known to be one of "
      "them: {}",
      some(hosts_->names), address_in(peer),
      unknown.empty() ? "their names are being resolved again" : "cannot resolve " + some(unknown));
}

std::string address_in(const std::string& peer) {
  const size_t begin = peer.find(':') + 1;
  std::string address = peer.substr(begin, peer.rfind(':') - begin);
  for (const char* bracket : {"%5B", "[", "%5D", "]"}) {
    if (const size_t at = address.find(bracket); at != std::string::npos) {
      address.erase(at, std::strlen(bracket));
    }
  }
  // An address of IPv4 on a socket of IPv6.
  constexpr std::string_view kMapped = "::ffff:";
  return address.starts_with(kMapped) ? address.substr(kMapped.size()) : address;
}

std::string port_in(const std::string& peer) { return peer.substr(peer.rfind(':') + 1); }

std::optional<uint64_t> RefusalLog::note(const std::string& source, Clock::time_point now) {
  constexpr int64_t kFirst = 3;
  constexpr size_t kMostSources = 256;  // the rest counts as one
  const MutexLock lock(mutex_);
  const bool known = sources_.size() < kMostSources || sources_.contains(source);
  Source& one = sources_[known ? source : ""];
  if (one.lines >= kFirst && now - one.last < std::chrono::minutes(1)) {
    ++one.silent;
    return std::nullopt;
  }
  ++one.lines;
  one.last = now;
  return std::exchange(one.silent, 0);
}

}  // namespace flotilla::rpc
