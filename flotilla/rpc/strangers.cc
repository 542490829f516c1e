#include "flotilla/rpc/strangers.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "flotilla/base/error.h"

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

// The numeric addresses of hosts; a name that cannot be resolved has none.
std::vector<std::string> resolved(const std::vector<std::string>& hosts) {
  std::vector<std::string> addresses;
  for (const std::string& host : hosts) {
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) continue;
    for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
      char text[NI_MAXHOST] = {};
      getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
      addresses.emplace_back(text);
    }
    freeaddrinfo(found);
  }
  return addresses;
}

}  // namespace

void check_token(std::string_view token) {
  constexpr size_t kMost = 1024;
  require(token.size() <= kMost,
          "the secret of a job (FLT_JOB_TOKEN) has at most {} bytes, but this has {}", kMost,
          token.size());
}

Strangers::Strangers(std::string token, const std::vector<std::string>& only_from)
    : token_(std::move(token)), anybody_(only_from.empty()), addresses_(resolved(only_from)) {
  check_token(token_);
}

Strangers::Verdict Strangers::judge(std::string_view token, const std::string& peer) const {
  if (!same_secret(token, token_)) return Verdict::kNoToken;
  const bool allowed = anybody_ || std::find(addresses_.begin(), addresses_.end(),
                                             address_in(peer)) != addresses_.end();
  return allowed ? Verdict::kWelcome : Verdict::kWrongHost;
}

const char* reason(Strangers::Verdict verdict) {
  switch (verdict) {
    case Strangers::Verdict::kWelcome:
      return "it is welcome";
    case Strangers::Verdict::kNoToken:
      return "it did not show the job's token";
    case Strangers::Verdict::kWrongHost:
      return "it is not a host of the job";
  }
  return "";
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
