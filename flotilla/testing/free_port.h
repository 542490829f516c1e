// flotilla/testing/free_port.h
//
// A port of this host that nobody listens on, for jobs whose endpoints are given.

#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

#include "flotilla/base/fd.h"

namespace flotilla {

inline int64_t free_port() {
  const Fd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size);
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

}  // namespace flotilla
