#include "flotilla/comm/shm/neighbours.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/error.h"
#include "flotilla/rpc/store_server.h"

namespace flotilla::comm {
namespace {

std::string last_error() { return std::strerror(errno); }

// Names that begin with a zero byte live in the kernel alone: no file is left behind.
std::pair<sockaddr_un, socklen_t> address_of(const std::string& name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())};
}

// False: the other side takes nothing more just now, or is gone.
bool send_with(int socket, const void* bytes, size_t size, int fd) {
  iovec data = {const_cast<void*>(bytes), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(size);
}

// False: the other side is gone.
bool receive_with(int socket, void* bytes, size_t size, Fd& fd) {
  iovec data = {bytes, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(size)) return false;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    int number = -1;
    std::memcpy(&number, CMSG_DATA(head), sizeof number);
    fd = Fd(number);
  }
  return true;
}

}  // namespace

Neighbours::Neighbours(rpc::StoreClient& store, const std::string& name, int rank, int size,
                       int apart)
    : rank_(rank), size_(size) {
  // Whoever knows the address knows the token of the job: it was read from the store.
  const std::string address = "flotilla-" + rpc::new_token();
  listen(address);
  const auto key = [&](const char* what, int r) { return fmt::format("{}/{}/{}", name, what, r); };
  const std::string prefix = fmt::format("{} ", apart);
  store.set(key("socket", rank), prefix + address);
  std::vector<std::string> lower;
  for (int r = 0; r < rank; ++r) {
    const std::string found = store.get(key("socket", r));
    lower.push_back(found.starts_with(prefix) ? found.substr(prefix.size()) : "");
  }
  store.set(key("near", rank), fmt::format("{}", fmt::join(connect(lower), ",")));

  size_t expected = 0;  // ranks that have connected to this one
  std::map<int, size_t> by_leader;
  for (int r = 0; r < size; ++r) {
    int leader = r;  // the lowest rank of its host
    for (const std::string& word : split_list(store.get(key("near", r)))) {
      const int reached = std::stoi(word);
      leader = std::min(leader, reached);
      expected += reached == rank;
    }
    const size_t host = by_leader.emplace(leader, hosts_.size()).first->second;
    if (host == hosts_.size()) hosts_.emplace_back();
    hosts_[host].push_back(r);
    if (r == rank) host_ = host;
  }
  accept(expected);
}

void Neighbours::listen(const std::string& address) {
  listener_ = Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const auto [bytes, length] = address_of(address);
  const bool listens =
      listener_ &&
      ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&bytes), length) == 0 &&
      ::listen(listener_.get(), size_) == 0;
  if (!listens) {
    throw Error(
        ErrorKind::kUnavailable,
        fmt::format("a Unix socket for the ranks of this host cannot be made: {}", last_error()));
  }
}

std::vector<int> Neighbours::connect(const std::vector<std::string>& lower) {
  std::vector<int> reached;
  for (size_t r = 0; r < lower.size(); ++r) {
    if (lower[r].empty()) continue;
    Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto [bytes, length] = address_of(lower[r]);
    // Refused where it lives on another host. A descriptor goes along: what arrives is the proof.
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&bytes), length) != 0) continue;
    const Fd proof(::memfd_create("flotilla", MFD_CLOEXEC));
    if (!send_with(socket.get(), &rank_, sizeof rank_, proof.get())) continue;
    sockets_.emplace(static_cast<int>(r), std::move(socket));
    reached.push_back(static_cast<int>(r));
  }
  return reached;
}

void Neighbours::accept(size_t expected) {
  for (size_t i = 0; i < expected; ++i) {
    Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    int rank = -1;
    Fd proof;
    const bool known = socket && receive_with(socket.get(), &rank, sizeof rank, proof) && proof &&
                       rank > rank_ && rank < size_;
    if (!known) {
      throw Error(ErrorKind::kUnavailable,
                  fmt::format("a rank of this host left while rank {} was meeting it", rank_));
    }
    sockets_.emplace(rank, std::move(socket));
  }
  listener_.reset();
}

bool Neighbours::give(int rank, const Parcel& parcel, int fd) {
  return send_with(sockets_.at(rank).get(), &parcel, sizeof parcel, fd);
}

std::optional<std::pair<Neighbours::Parcel, Fd>> Neighbours::take(int rank) {
  pollfd ready = {.fd = sockets_.at(rank).get(), .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, kLookMilliseconds) <= 0 || (ready.revents & POLLIN) == 0) {
    return std::nullopt;
  }
  std::pair<Parcel, Fd> taken;
  if (!receive_with(ready.fd, &taken.first, sizeof taken.first, taken.second)) return std::nullopt;
  return taken;
}

bool Neighbours::gone(int rank) const {
  pollfd state = {.fd = sockets_.at(rank).get(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void Neighbours::leave() const {
  for (const auto& [rank, socket] : sockets_) ::shutdown(socket.get(), SHUT_RDWR);
}

}  // namespace flotilla::comm
