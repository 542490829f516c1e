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
#include <string_view>

#include "flotilla/base/error.h"

namespace flotilla::launch {
namespace {

constexpr std::string_view kName = "flotilla-launcher-";
constexpr int kPatience = 2000;  // milliseconds

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

bool may_ask(int connection) {
  ucred who = {};
  socklen_t size = sizeof who;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
         (who.uid == geteuid() || who.uid == 0);
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

void StatusSocket::answer(const std::function<std::string()>& text) const {
  while (true) {
    const Fd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) return;
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
  return found;
}

std::string ask_launcher(pid_t launcher) {
  const Fd connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Address address = address_of(launcher);
  require(connection && ::connect(connection.get(), address.plain(), address.size) == 0,
          "process {} is no launcher that runs on this host", launcher);
  std::string text;
  char some[4096];
  while (true) {
    pollfd one = {connection.get(), POLLIN, 0};
    if (::poll(&one, 1, kPatience) <= 0) refuse("launcher {} does not answer", launcher);
    const ssize_t got = ::recv(connection.get(), some, sizeof some, 0);
    if (got <= 0) break;
    text.append(some, static_cast<size_t>(got));
  }
  require(!text.empty(), "launcher {} answers its own user alone", launcher);
  return text;
}

}  // namespace flotilla::launch
