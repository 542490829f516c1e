#include "flotilla/rpc/acceptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/base/thread.h"
#include "flotilla/rpc/resolve.h"

namespace flotilla::rpc {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRest{50};
constexpr milliseconds kLongest{60'000};

// The address and the port of the other end; empty where it is gone already.
std::pair<std::string, std::string> ends_of(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  char host[NI_MAXHOST] = {}, port[NI_MAXSERV] = {};
  if (::getpeername(socket, plain, &size) != 0 ||
      ::getnameinfo(plain, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  // In the form that gRPC has for it.
  const std::string peer = fmt::format("ip:{}:{}", host, port);
  return {address_in(peer), port_in(peer)};
}

// Without the interface of an address, for which there are two spellings.
std::string key_of(const std::string& source, const std::string& port) {
  return source.substr(0, source.find('%')) + " " + port;
}

bool has_spoken(int socket) {
  tcp_info info = {};
  socklen_t size = sizeof info;
  ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size);
  return info.tcpi_bytes_received > 0;
}

int64_t limit_of_descriptors() {
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
}

}  // namespace

Acceptor::Acceptor(Fd listener, std::string name, const DoorLimits& limits)
    : listener_(std::move(listener)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      name_(std::move(name)),
      limits_(limits) {
  // A connection that is gone again before it is accepted must not hold the thread.
  ::fcntl(listener_.get(), F_SETFL, ::fcntl(listener_.get(), F_GETFL) | O_NONBLOCK);
}

Acceptor::~Acceptor() { stop(); }

void Acceptor::stop() {
  ::eventfd_write(stop_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

void Acceptor::start(std::function<void(int, Fd)> on_connection) {
  on_connection_ = std::move(on_connection);
  thread_ = start_thread<std::thread>("accepts connections", [this] { run(); });
}

void Acceptor::run() {
  while (true) {
    const Clock::time_point now = Clock::now();
    const bool rests = now < again_;
    std::vector<pollfd> fds = {{stop_.get(), POLLIN, 0}, {rests ? -1 : listener_.get(), POLLIN, 0}};
    std::vector<std::string> keys;
    Clock::time_point next = rests ? again_ : now + kLongest;
    {
      const MutexLock lock(mutex_);
      for (const auto& [key, peer] : unauthenticated_) {
        fds.push_back({peer.socket.get(), POLLRDHUP, 0});
        keys.push_back(key);
        next = std::min(next, peer.came + limits_.patience);
      }
    }
    const auto left = std::chrono::ceil<milliseconds>(next - now).count();
    ::poll(fds.data(), fds.size(), static_cast<int>(std::max<int64_t>(left, 0)));
    if (fds[0].revents != 0) return;
    {
      const MutexLock lock(mutex_);
      for (size_t i = 0; i < keys.size(); ++i) {
        if (fds[i + 2].revents != 0) unauthenticated_.erase(keys[i]);  // it has left
      }
      dismiss();
    }
    if (fds[1].revents != 0 && !accept()) again_ = Clock::now() + kRest;
  }
}

bool Acceptor::accept() {
  {
    const MutexLock lock(mutex_);
    if (std::ssize(unauthenticated_) >= most_unauthenticated() && !make_room()) return false;
  }
  Fd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  // Where it failed for want of descriptors it would fail again at once.
  if (!connection) return errno == EAGAIN || errno == ECONNABORTED;
  const auto [source, port] = ends_of(connection.get());
  if (source.empty()) return true;
  // The system gives the lowest number that is free.
  if (connection.get() >= limit_of_descriptors() - reserve()) {
    complain(source, "this process has no file descriptors left");
    return false;
  }
  const int yes = 1;
  ::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  Unauthenticated peer = {.socket = Fd(::fcntl(connection.get(), F_DUPFD_CLOEXEC, 0)),
                          .source = source,
                          .came = Clock::now()};
  if (!peer.socket) return false;
  {
    const MutexLock lock(mutex_);
    unauthenticated_.insert_or_assign(key_of(source, port), std::move(peer));
  }
  on_connection_(listener_.get(), std::move(connection));
  return true;
}

void Acceptor::close(Iterator peer, const char* why) {
  ::shutdown(peer->second.socket.get(), SHUT_RDWR);
  complain(peer->second.source, why);
  unauthenticated_.erase(peer);
}

void Acceptor::dismiss() {
  const Clock::time_point now = Clock::now();
  for (auto next = unauthenticated_.begin(); next != unauthenticated_.end();) {
    const auto one = next++;
    if (now - one->second.came < limits_.patience) continue;
    close(one, "it did not show the job's token in time");
  }
}

bool Acceptor::make_room() {
  std::map<std::string, int64_t> counts;
  for (const auto& [key, peer] : unauthenticated_) ++counts[peer.source];
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  const std::string source = std::ranges::max_element(counts, fewer)->first;
  constexpr const char* kWhy = "too many connections of this host have not shown the job's token";
  const Clock::time_point now = Clock::now();
  auto slowest = unauthenticated_.end();
  bool closed = false;
  for (auto next = unauthenticated_.begin(); next != unauthenticated_.end();) {
    const auto one = next++;
    const Unauthenticated& peer = one->second;
    const bool spoke = has_spoken(peer.socket.get());
    const auto allowed = spoke ? limits_.handshake : limits_.first_word;
    if (peer.source != source || now - peer.came < allowed) continue;
    if (!spoke) {
      close(one, kWhy);
      closed = true;
    } else if (slowest == unauthenticated_.end() || peer.came < slowest->second.came) {
      slowest = one;
    }
  }
  if (closed || slowest == unauthenticated_.end()) return closed;
  close(slowest, kWhy);
  return true;
}

void Acceptor::welcome(const std::string& peer) {
  const MutexLock lock(mutex_);
  if (!unauthenticated_.empty()) unauthenticated_.erase(key_of(address_in(peer), port_in(peer)));
}

void Acceptor::refuse(const std::string& peer, const std::string& why) {
  complain(address_in(peer), why);
  const MutexLock lock(mutex_);
  const auto one = unauthenticated_.find(key_of(address_in(peer), port_in(peer)));
  if (one == unauthenticated_.end() || ++one->second.refusals < limits_.refusals) return;
  ::shutdown(one->second.socket.get(), SHUT_RDWR);
  unauthenticated_.erase(one);
}

void Acceptor::complain(const std::string& source, std::string_view why) {
  const std::optional<uint64_t> silent = log_.note(source);
  if (!silent) return;
  log::warning("{} refused a connection from {}: {}{}", name_, source, why,
               *silent == 0 ? "" : fmt::format("; {} more since the last such line", *silent));
}

int64_t Acceptor::unauthenticated() const {
  const MutexLock lock(mutex_);
  return std::ssize(unauthenticated_);
}

int64_t Acceptor::reserve() const { return std::min(limits_.reserve, limit_of_descriptors() / 4); }

// Each takes two descriptors.
int64_t Acceptor::most_unauthenticated() const {
  return std::clamp<int64_t>((limit_of_descriptors() - reserve()) / 4, 1, limits_.unauthenticated);
}

Fd listen_at(const std::string& address, const std::function<bool()>& stop) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {};
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const Resolved found =
      resolve({.host = host, .port = address.substr(colon + 1), .flags = AI_PASSIVE}, stop);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const addrinfo* one = found.addresses.get(); one != nullptr; one = one->ai_next) {
      if (one->ai_family != family) continue;
      Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      // A port whose last owner has just ended is free.
      const int yes = 1;
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      if (::bind(socket.get(), one->ai_addr, one->ai_addrlen) == 0 &&
          ::listen(socket.get(), SOMAXCONN) == 0) {
        return socket;
      }
    }
  }
  return {};
}

int listening_port(const Fd& listener) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  int listens = 0;
  socklen_t listens_size = sizeof listens;
  const bool known =
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
      (address.ss_family == AF_INET || address.ss_family == AF_INET6) &&
      ::getsockopt(listener.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) == 0 &&
      listens != 0;
  require(known, "descriptor {} is not a listening TCP socket", listener.get());
  return ntohs(address.ss_family == AF_INET
                   ? reinterpret_cast<const sockaddr_in&>(address).sin_port
                   : reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

}  // namespace flotilla::rpc
