#include "flotilla/rpc/dial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "flotilla/base/env.h"
#include "flotilla/rpc/resolve.h"

namespace flotilla::rpc {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kSlice{50};  // between two questions whether to stop

// 0, or the number of what went wrong.
int connect_to(const addrinfo& address, const Fd& socket, Clock::time_point deadline,
               const std::function<bool()>& stop) {
  if (!socket) return errno;
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd waiting = {socket.get(), POLLOUT, 0};
  int ready = 0;
  bool over = false;
  while (ready <= 0 && !over) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    const auto wait = std::clamp<milliseconds>(left, milliseconds(0), kSlice);
    ready = ::poll(&waiting, 1, static_cast<int>(wait.count()));
    over = left <= kSlice || (stop && stop());
  }
  if (ready <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

void blocking(const Fd& socket) {
  fcntl(socket.get(), F_SETFL, fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
}

}  // namespace

Name look_up(const std::string& host, const std::function<bool()>& stop) {
  switch (resolve({.host = host}, stop).error) {
    case 0:
      return Name::kKnown;
    case EAI_NONAME:
    case EAI_NODATA:
      return Name::kUnknown;
    default:
      return Name::kUnclear;
  }
}

std::chrono::milliseconds patience_with_names() {
  if (env::text("KUBERNETES_SERVICE_HOST")) return std::chrono::minutes(10);
  return std::chrono::seconds(5);
}

Dialed dial(const Endpoint& endpoint, milliseconds patience, const std::function<bool()>& stop) {
  const Clock::time_point began = Clock::now();
  const Clock::time_point deadline = began + patience;
  const Resolved resolved =
      resolve({.host = endpoint.host, .port = fmt::to_string(endpoint.port)}, stop);
  if (!resolved.ok()) {
    return {.problem = fmt::format("its name {}", resolved.problem()), .unresolved = true};
  }
  Dialed dialed;
  for (const addrinfo* each = resolved.addresses.get(); each != nullptr; each = each->ai_next) {
    Fd socket(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int error = connect_to(*each, socket, deadline, stop);
    if (error == 0) {
      blocking(socket);
      return {.socket = std::move(socket),
              .seconds = std::chrono::duration<double>(Clock::now() - began).count()};
    }
    dialed.listens_not = error == ECONNREFUSED;
    if (error == ECONNREFUSED) {
      dialed.problem = fmt::format("nothing listens on its port {}", endpoint.port);
    } else if (error == ETIMEDOUT) {
      dialed.problem = fmt::format("it does not answer on port {} within {:.1f} s", endpoint.port,
                                   std::chrono::duration<double>(patience).count());
    } else {
      dialed.problem = std::strerror(error);
    }
  }
  return dialed;
}

}  // namespace flotilla::rpc
