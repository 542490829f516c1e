// flotilla/launch/ports.h
//
// Ports are bound, not picked: a process gets the listening socket itself, so nobody can take its
// port between the choice and the use, and connections that come early wait in the socket's queue.

#pragma once

#include <cstdint>
#include <string>

#include "flotilla/base/fd.h"

namespace flotilla::launch {

struct Listener {
  std::string host = {};
  int64_t port = 0;
  Fd socket = {};

  std::string endpoint() const;
};

// Listens on `host`, an address of this machine; port 0 takes one that is free. Refuses a port
// that is taken, with the process that holds it where it can be found.
Listener listen_on(const std::string& host, int64_t port);

// "python (pid 4711)" where some process of this machine listens on the port, otherwise "".
std::string holder_of(int64_t port);

}  // namespace flotilla::launch
