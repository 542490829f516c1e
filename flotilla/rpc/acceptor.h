// flotilla/rpc/acceptor.h
//
// A thread that accepts connections on a socket that somebody else has opened, e.g. the launcher,
// which keeps it across a restart of this process. gRPC cannot adopt such a socket, but takes its
// connections.

#pragma once

#include <functional>
#include <thread>

#include "flotilla/base/fd.h"

namespace flotilla::rpc {

class Acceptor {
 public:
  // `on_connection(listener, connection)`, from the thread.
  Acceptor(Fd listener, std::function<void(int, Fd)> on_connection);
  // Stops; connections that wait to be accepted stay with the socket.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

 private:
  void run();

  const Fd listener_;
  const Fd stop_;  // readable: the end
  const std::function<void(int, Fd)> on_connection_;
  std::thread thread_;
};

// The port that a socket listens on; refuses what is no listening socket of TCP.
int listening_port(const Fd& listener);

}  // namespace flotilla::rpc
