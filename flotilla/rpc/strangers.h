// flotilla/rpc/strangers.h
//
// Who may call a server of the job: those who show its token, from the hosts that are allowed.

#pragma once

#include <string>
#include <string_view>
#include <vector>

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

}  // namespace flotilla::rpc
