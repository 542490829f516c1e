#include "flotilla/comm/gloo/sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <charconv>
#include <filesystem>
#include <string>

namespace flotilla::comm {
namespace {

// 0: it has none.
int port_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(address).sin_port;
  }
  if (address.ss_family == AF_INET6) {
    return reinterpret_cast<const sockaddr_in6&>(address).sin6_port;
  }
  return 0;
}

bool connects(int fd, const sockaddr_storage& mine, const sockaddr_storage& theirs) {
  sockaddr_storage here = {};
  sockaddr_storage there = {};
  socklen_t here_bytes = sizeof here;
  socklen_t there_bytes = sizeof there;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &here_bytes) != 0 ||
      ::getpeername(fd, reinterpret_cast<sockaddr*>(&there), &there_bytes) != 0) {
    return false;
  }
  return port_of(there) != 0 &&
         (port_of(here) == port_of(mine) || port_of(there) == port_of(theirs));
}

void set(int fd, int level, int name, int value) {
  ::setsockopt(fd, level, name, &value, sizeof value);
}

}  // namespace

bool limit_silence(const sockaddr_storage& mine, const sockaddr_storage& theirs,
                   std::chrono::seconds limit) {
  bool found = false;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const std::string name = entry.path().filename();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (!connects(fd, mine, theirs)) continue;
    found = true;
    const int seconds = static_cast<int>(limit.count());
    constexpr int kProbes = 3;
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);  // where we wait for the other
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, (seconds + kProbes) / (kProbes + 1));
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, (seconds + kProbes) / (kProbes + 1));
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, seconds * 1000);  // where bytes of ours are on the way
    // The longest pause between two attempts to send them, where the kernel knows this (6.15).
    constexpr int kLongestPause = 44;  // TCP_RTO_MAX_MS
    set(fd, IPPROTO_TCP, kLongestPause, 2000);
  }
  return found;
}

}  // namespace flotilla::comm
