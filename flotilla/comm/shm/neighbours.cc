#include "flotilla/comm/shm/neighbours.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/error.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/thread.h"
#include "flotilla/comm/queue.h"
#include "flotilla/rpc/store_server.h"

namespace flotilla::comm {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kRetry{10};   // of a connection where the other side's queue is full
constexpr milliseconds kCheck{100};  // whether the job goes on
constexpr milliseconds kNoDescriptors{50};

// Connections of this user that have said nothing yet, besides those of the ranks.
constexpr size_t kMostSilent = 64;

// What a rank says to the one that it connects to.
struct Greeting {
  int32_t rank = -1;
  std::array<char, 32> word = {};  // of the listening rank

  bool operator==(const Greeting&) const = default;
};

Greeting greeting_of(int rank, const std::string& word) {
  Greeting greeting = {.rank = rank};
  word.copy(greeting.word.data(), greeting.word.size());
  return greeting;
}

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

// False: it is none of ours, or the other side is gone.
bool receive_with(int socket, void* bytes, size_t size, Fd& fd) {
  iovec data = {bytes, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0) return false;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    int number = -1;
    std::memcpy(&number, CMSG_DATA(head), sizeof number);
    fd = Fd(number);
  }
  return got == static_cast<ssize_t>(size) && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
}

// Whether the process at the other end is of this process's user. The kernel says so, and notes it
// when the connection is made.
bool same_user(int socket) {
  ucred who = {};
  socklen_t size = sizeof who;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == ::geteuid();
}

// None: nobody listens there. Waits where others fill the queue of connections.
Fd connected_to(const std::string& name, const std::function<void()>& check) {
  const auto [bytes, length] = address_of(name);
  Clock::time_point checked = Clock::now();
  while (true) {
    Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto* plain = reinterpret_cast<const sockaddr*>(&bytes);
    if (socket && ::connect(socket.get(), plain, length) == 0) return socket;
    if (socket && errno != EAGAIN) return {};
    std::this_thread::sleep_for(kRetry);
    if (Clock::now() - checked < kCheck) continue;
    check();
    checked = Clock::now();
  }
}

}  // namespace

// Where ranks of this host come: a thread that hears all who connect at once.
class Neighbours::Reception {
 public:
  Reception(const std::string& address, const std::string& word, int rank, int size)
      : expected_(greeting_of(rank, word)),
        size_(size),
        listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
        stop_(::eventfd(0, EFD_CLOEXEC)) {
    const auto [bytes, length] = address_of(address);
    const bool listens =
        listener_ && stop_ &&
        ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&bytes), length) == 0 &&
        ::listen(listener_.get(), SOMAXCONN) == 0;
    if (!listens) {
      throw Error(
          ErrorKind::kUnavailable,
          fmt::format("cannot create a Unix socket for the ranks of this host: {}", last_error()));
    }
    const WithoutSignals guard;
    thread_ = start_thread<std::thread>("connects the ranks of this host", [this] { run(); });
  }
  ~Reception() {
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  // The connection of a rank that says that it has made one.
  Fd take(int rank, const std::function<void()>& check) {
    while (true) {
      {
        MutexLock lock(mutex_);
        if (!came_.contains(rank)) came_now_.wait_until(lock, Clock::now() + kCheck);
        const auto found = came_.find(rank);
        if (found != came_.end()) return std::move(found->second);
      }
      check();
    }
  }

 private:
  void run() {
    while (true) {
      std::vector<pollfd> fds = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      for (const Fd& silent : silent_) fds.push_back({silent.get(), POLLIN, 0});
      ::poll(fds.data(), fds.size(), -1);
      if (fds[0].revents != 0) return;
      for (size_t i = silent_.size(); i > 0; --i) {
        if (fds[i + 1].revents != 0) hear(i - 1);
      }
      if (fds[1].revents != 0) accept();
    }
  }

  void accept() {
    Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      // Where it failed for want of descriptors it would fail again at once.
      pollfd stop = {stop_.get(), POLLIN, 0};
      if (errno != EAGAIN) ::poll(&stop, 1, static_cast<int>(kNoDescriptors.count()));
      return;
    }
    if (!same_user(socket.get())) return;
    silent_.push_back(std::move(socket));
    if (silent_.size() > kMostSilent + static_cast<size_t>(size_)) silent_.pop_front();
  }

  // What the first word of a connection is: that of a rank, or it is closed.
  void hear(size_t i) {
    Fd socket = std::move(silent_[i]);
    silent_.erase(silent_.begin() + static_cast<ptrdiff_t>(i));
    Greeting greeting;
    Fd proof;
    if (!receive_with(socket.get(), &greeting, sizeof greeting, proof) || !proof) return;
    if (greeting.word != expected_.word) return;
    if (greeting.rank <= expected_.rank || greeting.rank >= size_) return;
    const MutexLock lock(mutex_);
    came_.emplace(greeting.rank, std::move(socket));
    came_now_.notify_all();
  }

  const Greeting expected_;  // with this rank's own number: others have higher ones
  const int size_;
  const Fd listener_;
  const Fd stop_;          // readable: the end
  std::deque<Fd> silent_;  // of this user, in the order in which they came
  Mutex mutex_;
  Condition came_now_;
  std::map<int, Fd> came_ FLT_GUARDED_BY(mutex_);
  std::thread thread_;
};

Neighbours::Neighbours(rpc::StoreClient& store, const std::string& name, int rank, int size,
                       int apart)
    : rank_(rank), size_(size) {
  const std::string address = "flotilla-" + rpc::new_token();
  const std::string word = rpc::new_token();
  Reception reception(address, word, rank, size);
  const auto key = [&](const char* what, int r) { return fmt::format("{}/{}/{}", name, what, r); };
  const std::string prefix = fmt::format("{} ", apart);
  store.set(key("socket", rank), prefix + address + " " + word);
  std::vector<Door> lower;
  for (int r = 0; r < rank; ++r) {
    const std::string found = store.get(key("socket", r));
    const size_t blank = found.rfind(' ');
    const bool near = found.starts_with(prefix) && blank >= prefix.size();
    lower.push_back(near ? Door{.address = found.substr(prefix.size(), blank - prefix.size()),
                                .word = found.substr(blank + 1)}
                         : Door());
  }
  const auto check = [&] { store.find(key("socket", rank)); };  // throws where the job ends
  store.set(key("near", rank), fmt::format("{}", fmt::join(connect(lower, check), ",")));

  std::map<int, size_t> by_leader;
  for (int r = 0; r < size; ++r) {
    int leader = r;  // the lowest rank of its host
    bool reached_me = false;
    for (const std::string& entry : split_list(store.get(key("near", r)))) {
      const int reached = std::stoi(entry);
      leader = std::min(leader, reached);
      reached_me = reached_me || reached == rank;
    }
    if (reached_me) sockets_.emplace(r, reception.take(r, check));
    const size_t host = by_leader.emplace(leader, hosts_.size()).first->second;
    if (host == hosts_.size()) hosts_.emplace_back();
    hosts_[host].push_back(r);
    if (r == rank) host_ = host;
  }
}

std::vector<int> Neighbours::connect(const std::vector<Door>& lower,
                                     const std::function<void()>& check) {
  std::vector<int> reached;
  for (size_t r = 0; r < lower.size(); ++r) {
    if (lower[r].address.empty()) continue;
    Fd socket = connected_to(lower[r].address, check);
    // Refused where it lives on another host. A descriptor goes along: what arrives is the proof.
    if (!socket || !same_user(socket.get())) continue;
    const Fd proof(::memfd_create("flotilla", MFD_CLOEXEC));
    const Greeting greeting = greeting_of(rank_, lower[r].word);
    if (!send_with(socket.get(), &greeting, sizeof greeting, proof.get())) continue;
    sockets_.emplace(static_cast<int>(r), std::move(socket));
    reached.push_back(static_cast<int>(r));
  }
  return reached;
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
