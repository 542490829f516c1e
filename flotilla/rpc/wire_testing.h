// flotilla/rpc/wire_testing.h
//
// A wire between a client and a server of this process that tests can cut, mend and pull out.

#pragma once

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <chrono>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/fd.h"
#include "flotilla/base/mutex.h"
#include "flotilla/rpc/data_testing.h"
#include "flotilla/rpc/dial.h"

namespace flotilla::rpc {

// Whoever connects to address() is connected to `server`.
class Wire {
 public:
  explicit Wire(const std::string& server, Fd listener = listening())
      : server_(*find_endpoint(server)),
        listener_(std::move(listener)),
        thread_([this] { run(); }) {}
  ~Wire() {
    set([this] { closing_ = true; });
    thread_.join();
  }

  std::string address() const { return address_of(listener_); }
  // Nothing goes through, and nobody is told.
  void cut() {
    set([this] { cut_ = true; });
  }
  void mend() {
    set([this] { cut_ = only_old_ = false; });
  }
  // What was sent over connections that stand arrives; new ones do not come through.
  void flicker() {
    set([this] {
      cut_ = false;
      only_old_ = true;
    });
  }
  // Closes all connections, as a firewall may: both ends hear of it.
  void reset() {
    set([this] { reset_ = true; });
  }
  int64_t connections() const {
    const MutexLock lock(mutex_);
    return connections_;
  }

 private:
  struct Pair {
    Fd client = {};
    Fd server = {};
    bool broken = false;
  };

  template <typename F>
  void set(F&& change) {
    const MutexLock lock(mutex_);
    change();
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  }

  static void kill(Fd& socket) {
    const linger now = {.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    socket.reset();
  }

  static void forward(Pair& pair, const Fd& from, const Fd& to) {
    char bytes[1 << 16];
    const ssize_t got = ::recv(from.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got <= 0) {
      pair.broken = true;
      return;
    }
    for (ssize_t at = 0; at < got && !pair.broken;) {
      const ssize_t sent =
          ::send(to.get(), bytes + at, static_cast<size_t>(got - at), MSG_NOSIGNAL);
      if (sent <= 0) pair.broken = true;
      at += sent;
    }
  }

  void run() {
    std::list<Pair> pairs;
    while (true) {
      bool cut = false;
      bool only_old = false;
      {
        const MutexLock lock(mutex_);
        if (closing_) return;
        if (std::exchange(reset_, false)) {
          for (Pair& pair : pairs) {
            kill(pair.client);
            kill(pair.server);
          }
          pairs.clear();
        }
        cut = cut_;
        only_old = only_old_;
      }
      std::vector<pollfd> waiting = {{wake_.get(), POLLIN, 0}};
      if (!cut) {
        waiting.push_back({only_old ? -1 : listener_.get(), POLLIN, 0});
        for (const Pair& pair : pairs) {
          waiting.push_back({pair.client.get(), POLLIN, 0});
          waiting.push_back({pair.server.get(), POLLIN, 0});
        }
      }
      ::poll(waiting.data(), waiting.size(), -1);
      uint64_t count = 0;
      if (waiting[0].revents != 0) {
        [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof count);
        continue;
      }
      size_t next = 2;
      for (Pair& pair : pairs) {
        if (waiting[next++].revents != 0) forward(pair, pair.client, pair.server);
        if (waiting[next++].revents != 0) forward(pair, pair.server, pair.client);
      }
      std::erase_if(pairs, [](const Pair& pair) { return pair.broken; });
      if (waiting[1].revents != 0) accept(pairs);
    }
  }

  void accept(std::list<Pair>& pairs) {
    Pair pair;
    pair.client = Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    pair.server = dial(server_, std::chrono::seconds(5)).socket;
    if (!pair.client || !pair.server) return;
    const int yes = 1;  // small messages go at once, as they would without a wire
    for (const Fd* socket : {&pair.client, &pair.server}) {
      ::setsockopt(socket->get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    }
    pairs.push_back(std::move(pair));
    const MutexLock lock(mutex_);
    ++connections_;
  }

  const Endpoint server_;
  const Fd listener_;
  const Fd wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  mutable Mutex mutex_;
  bool cut_ FLT_GUARDED_BY(mutex_) = false;
  bool only_old_ FLT_GUARDED_BY(mutex_) = false;
  bool reset_ FLT_GUARDED_BY(mutex_) = false;
  bool closing_ FLT_GUARDED_BY(mutex_) = false;
  int64_t connections_ FLT_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace flotilla::rpc
