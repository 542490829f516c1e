#include "flotilla/launch/status_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "flotilla/base/error.h"

namespace flotilla::launch {
namespace {

constexpr std::string_view kName = "flotilla-launcher-";
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kPatience{2000};
constexpr milliseconds kRetry{10};
constexpr milliseconds kNoDescriptors{100};
constexpr int kAtOnce = 64;                   // who come faster wait for each other, not the job
constexpr size_t kLongest = size_t{1} << 22;  // of an answer

struct Address {
  sockaddr_un un = {};
  socklen_t size = 0;

  sockaddr* plain() { return reinterpret_cast<sockaddr*>(&un); }
};

// The zero byte in front makes it a name that is no file.
Address address_of(pid_t launcher) {
  const std::string name = fmt::format("{}{}", kName, launcher);
  Address made;
  made.un.sun_family = AF_UNIX;
  std::memcpy(made.un.sun_path + 1, name.data(), name.size());
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return made;
}

// The user of the process at the other end, as the kernel noted it; nothing: it is not known.
std::optional<uid_t> user_of(int connection) {
  ucred who = {};
  socklen_t size = sizeof who;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return std::nullopt;
  return who.uid;
}

bool may_ask(int connection) {
  const std::optional<uid_t> user = user_of(connection);
  return user && (*user == geteuid() || *user == 0);
}

// None where nobody of this user listens. Others may fill the queue of a launcher, for a moment.
Fd connect_to(pid_t launcher, Clock::time_point deadline) {
  Address address = address_of(launcher);
  while (true) {
    Fd connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (connection && ::connect(connection.get(), address.plain(), address.size) == 0) {
      return user_of(connection.get()) == geteuid() ? std::move(connection) : Fd();
    }
    if ((connection && errno != EAGAIN) || Clock::now() >= deadline) return {};
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace

StatusSocket::StatusSocket()
    : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  Address address = address_of(getpid());
  if (!listener_ || ::bind(listener_.get(), address.plain(), address.size) != 0 ||
      ::listen(listener_.get(), 16) != 0) {
    listener_ = {};
  }
}

int StatusSocket::fd() const { return Clock::now() < again_ ? -1 : listener_.get(); }

void StatusSocket::answer(const std::function<std::string()>& text) {
  for (int i = 0; i < kAtOnce; ++i) {
    const Fd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) {
      if (errno != EAGAIN && errno != ECONNABORTED) again_ = Clock::now() + kNoDescriptors;
      return;
    }
    if (!may_ask(connection.get())) continue;
    const std::string said = text();
    // What does not fit is left out: whoever asks must not hold up the job.
    (void)::send(connection.get(), said.data(), said.size(), MSG_NOSIGNAL);
  }
}

std::vector<pid_t> running_launchers() {
  std::vector<pid_t> found;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    // The line ends in the name, with @ for the zero byte.
    const size_t at = line.rfind(" @");
    if (at == line.npos || !std::string_view(line).substr(at + 2).starts_with(kName)) continue;
    const char* begin = line.data() + at + 2 + kName.size();
    pid_t pid = 0;
    if (std::from_chars(begin, line.data() + line.size(), pid).ec == std::errc()) {
      found.push_back(pid);
    }
  }
  // A socket and its open connections have the same name.
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::erase_if(found, [](pid_t launcher) { return !connect_to(launcher, Clock::now()); });
  return found;
}

std::string ask_launcher(pid_t launcher) {
  const Clock::time_point deadline = Clock::now() + kPatience;
  const Fd connection = connect_to(launcher, deadline);
  require(static_cast<bool>(connection), "process {} is not a launcher of this user on this host",
          launcher);
  std::string text;
  char some[4096];
  while (text.size() < kLongest) {
    pollfd one = {connection.get(), POLLIN, 0};
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
    if (left <= 0 || ::poll(&one, 1, static_cast<int>(left)) <= 0) {
      refuse("launcher {} does not answer", launcher);
    }
    const ssize_t got = ::recv(connection.get(), some, sizeof some, 0);
    if (got <= 0) break;
    text.append(some, static_cast<size_t>(got));
  }
  require(!text.empty(), "launcher {} ended before it answered", launcher);
  return text;
}

}  // namespace flotilla::launch
