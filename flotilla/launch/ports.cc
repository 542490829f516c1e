#include "flotilla/launch/ports.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "flotilla/base/error.h"
#include "flotilla/base/printable.h"
#include "flotilla/rpc/resolve.h"

namespace flotilla::launch {
namespace {

namespace fs = std::filesystem;

// An IPv4 or IPv6 address with its port, as the kernel takes it.
struct Address {
  sockaddr_storage bytes = {};
  socklen_t size = 0;
};

Address resolve(const std::string& host, int64_t port) {
  const rpc::Resolved found =
      rpc::resolve({.host = host, .port = fmt::to_string(port), .flags = AI_PASSIVE});
  require(found.ok(), "the host \"{}\" {}", host, found.problem());
  Address address;
  address.size = found.addresses->ai_addrlen;
  std::memcpy(&address.bytes, found.addresses->ai_addr, address.size);
  return address;
}

// The inode of the socket that listens on `port`, from the kernel's table.
std::optional<std::string> listening_inode(const char* table, int64_t port) {
  std::ifstream file(table);
  const std::string suffix = fmt::format(":{:04X}", port);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, retransmits, user, timeout, inode;
    words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> user >>
        timeout >> inode;
    constexpr std::string_view kListen = "0A";
    if (local.ends_with(suffix) && state == kListen) return inode;
  }
  return std::nullopt;
}

bool holds(const fs::path& process, const std::string& socket) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(process / "fd", ignored)) {
    if (fs::read_symlink(entry.path(), ignored) == socket) return true;
  }
  return false;
}

}  // namespace

std::string Listener::endpoint() const { return fmt::format("{}:{}", host, port); }

std::string holder_of(int64_t port) {
  std::optional<std::string> inode = listening_inode("/proc/net/tcp", port);
  if (!inode) inode = listening_inode("/proc/net/tcp6", port);
  if (!inode) return "";
  const std::string socket = fmt::format("socket:[{}]", *inode);
  std::error_code ignored;
  for (const auto& process : fs::directory_iterator("/proc", ignored)) {
    const std::string pid = process.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    if (!holds(process.path(), socket)) continue;
    std::string name;
    std::getline(std::ifstream(process.path() / "comm"), name);
    if (pid == fmt::to_string(getpid())) return "another process of this job";
    return fmt::format("{} (pid {})", printable(name), pid);
  }
  return "a process of another user";
}

Listener listen_on(const std::string& host, int64_t port) {
  require(port >= 0 && port <= 65535, "a port must be from 0 to 65535, but is {}", port);
  const Address address = resolve(host, port);
  Listener made{.host = host};
  made.socket = Fd(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  invariant(static_cast<bool>(made.socket), "cannot create a socket: {}", std::strerror(errno));
  // A port whose last owner has just ended is free.
  const int yes = 1;
  setsockopt(made.socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  constexpr int kQueue = 512;
  if (::bind(made.socket.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) !=
          0 ||
      ::listen(made.socket.get(), kQueue) != 0) {
    const int error = errno;
    const std::string holder = error == EADDRINUSE ? holder_of(port) : "";
    refuse(
        "cannot listen on port {} of {}: {}{}", port, host, std::strerror(error),
        holder.empty()
            ? ""
            : fmt::format("; it is used by {}. Choose another port, or end that process", holder));
  }
  sockaddr_storage bound = {};
  socklen_t size = sizeof bound;
  getsockname(made.socket.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  made.port =
      ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                        : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
  return made;
}

}  // namespace flotilla::launch
