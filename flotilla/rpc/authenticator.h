// flotilla/rpc/authenticator.h
//
// Who may call a server of the job: those who show its token, from the hosts that are allowed.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/mutex.h"

namespace flotilla::rpc {

// Refuses a token that is too long to be sent along with every call.
void check_token(std::string_view token);

// The names of hosts may be known late, or come to mean other addresses. Whoever comes from an
// address that belongs to none of them is told to ask again, while they are looked up anew on
// another thread, once a second at most. It is refused once they are all known and none has it.
//
// Thread safety: all calls, from any thread. None waits for the resolver, but for the constructor,
// and that for half a second.
class Authenticator {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Verdict { kWelcome, kNoToken, kWrongHost, kNotYet };

  // The numeric addresses of a host; none: nobody knows it.
  using Resolve = std::function<std::vector<std::string>(const std::string& host)>;
  static std::vector<std::string> resolve(const std::string& host);

  // `only_from`: hosts and addresses; empty: any.
  Authenticator(std::string token, std::vector<std::string> only_from, Resolve how = resolve);

  // `peer` as gRPC writes it: "ipv4:10.0.0.2:4711" or "ipv6:[fe80::1]:4711".
  Verdict judge(std::string_view token, const std::string& peer,
                Clock::time_point now = Clock::now()) const;

  // Why whoever has this peer is not welcome: "it did not show the job's token", ...
  std::string reason(Verdict verdict, const std::string& peer) const;

 private:
  struct Hosts;

  const std::string token_;
  const std::shared_ptr<Hosts> hosts_;  // null: any. Also of the thread that looks names up
};

// Of a peer as gRPC writes it: "10.0.0.2" and "4711".
std::string address_in(const std::string& peer);
std::string port_in(const std::string& peer);

// Which refusals are worth a line: the first few of a source, then one a minute. Who is refused
// must not fill the log. Thread safety: all calls, from any thread.
class RefusalLog {
 public:
  using Clock = std::chrono::steady_clock;

  // How many of this source had none since the last line; nothing: this one has none, either.
  std::optional<uint64_t> note(const std::string& source, Clock::time_point now = Clock::now());

 private:
  struct Source {
    int64_t lines = 0;
    uint64_t silent = 0;
    Clock::time_point last = {};
  };

  Mutex mutex_;
  std::map<std::string, Source> sources_ FLT_GUARDED_BY(mutex_);
};

}  // namespace flotilla::rpc
