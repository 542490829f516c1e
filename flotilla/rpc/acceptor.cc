#include "flotilla/rpc/acceptor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <chrono>

#include "flotilla/base/error.h"

namespace flotilla::rpc {

Acceptor::Acceptor(Fd listener, std::function<void(int, Fd)> on_connection)
    : listener_(std::move(listener)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      on_connection_(std::move(on_connection)) {
  // A connection that is gone again before it is accepted must not hold the thread.
  ::fcntl(listener_.get(), F_SETFL, ::fcntl(listener_.get(), F_GETFL) | O_NONBLOCK);
  thread_ = std::thread([this] { run(); });
}

Acceptor::~Acceptor() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void Acceptor::run() {
  pollfd waiting[] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  while (true) {
    ::poll(waiting, 2, -1);
    if (waiting[1].revents != 0) return;
    Fd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection) {
      const int yes = 1;
      ::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      on_connection_(listener_.get(), std::move(connection));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
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
  require(known, "descriptor {} is no TCP socket that listens", listener.get());
  return ntohs(address.ss_family == AF_INET
                   ? reinterpret_cast<const sockaddr_in&>(address).sin_port
                   : reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

}  // namespace flotilla::rpc
