#include "flotilla/rpc/resolve.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/thread.h"

namespace flotilla::rpc {
namespace {

constexpr std::chrono::milliseconds kSlice{50};  // between two questions whether to stop

// Shared with a thread that may outlive whoever asked.
struct Answer {
  Mutex mutex;
  Condition changed;
  std::optional<Resolved> came FLT_GUARDED_BY(mutex);

  void give(Resolved found) {
    const MutexLock lock(mutex);
    came = std::move(found);
    changed.notify_all();
  }
  std::optional<Resolved> wait() {
    const auto until = std::chrono::steady_clock::now() + kSlice;
    MutexLock lock(mutex);
    while (!came && changed.wait_until(lock, until)) continue;
    return came;
  }
};

}  // namespace

std::string Resolved::problem() const {
  if (error == EAI_CANCELED) return "is still being looked up";
  return fmt::format("cannot be resolved: {}", gai_strerror(error));
}

Resolved ask_system(const HostQuery& query) {
  addrinfo hints = {};
  hints.ai_socktype = query.type;
  hints.ai_flags = query.flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const char* port = query.port.empty() ? nullptr : query.port.c_str();
  const int error = ::getaddrinfo(query.host.c_str(), port, &hints, &found);
  if (error != 0) return {.error = error};
  return {.addresses = std::shared_ptr<const addrinfo>(found, ::freeaddrinfo)};
}

Resolved resolve(const HostQuery& query, const std::function<bool()>& stop, const Resolver& how) {
  if (!stop) return how(query);
  // An address takes no time, and no thread.
  HostQuery numeric = query;
  numeric.flags |= AI_NUMERICHOST;
  if (Resolved known = ask_system(numeric); known.ok()) return known;
  const auto answer = std::make_shared<Answer>();
  try {
    start_thread<std::thread>("looks up a host", [=] { answer->give(how(query)); }).detach();
  } catch (const Error&) {
    return how(query);  // better late than not at all
  }
  while (true) {
    if (const std::optional<Resolved> found = answer->wait()) return *found;
    if (stop()) return {.error = EAI_CANCELED};
  }
}

std::string numeric_text(const sockaddr* address, socklen_t size) {
  char text[NI_MAXHOST] = {};
  ::getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return text;
}

}  // namespace flotilla::rpc
