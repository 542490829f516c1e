// flotilla/rpc/strangers.h
//
// Who may call a server of the job: those who show its token, from the hosts that are allowed.

#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/mutex.h"

namespace flotilla::rpc {

// Refuses a token that is too long to be sent along with every call.
void check_token(std::string_view token);

class Strangers {
 public:
  enum class Verdict { kWelcome, kNoToken, kWrongHost };

  // `only_from`: hosts and addresses; empty: any.
  Strangers(std::string token, const std::vector<std::string>& only_from);

  // `peer` as gRPC writes it: "ipv4:10.0.0.2:4711" or "ipv6:[fe80::1]:4711".
  Verdict judge(std::string_view token, const std::string& peer) const;

 private:
  const std::string token_;
  const bool anybody_;
  const std::vector<std::string> addresses_;  // numeric
};

// "it did not show the job's token", "it is not a host of the job".
const char* reason(Strangers::Verdict verdict);

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
