// flotilla/comm/gloo/sockets.h
//
// What Gloo leaves undone with the sockets that it keeps to itself.

#pragma once

#include <sys/socket.h>

#include <chrono>

namespace flotilla::comm {

// A connection over which nothing comes back for so long is broken: a cable that is cut tells
// nobody, and the kernel's own limit is a quarter of an hour. It holds for the socket of this
// process that is connected to `theirs`, or from which `mine` was connected to (only the ports
// count: a listener accepts one connection). False: there is none.
bool limit_silence(const sockaddr_storage& mine, const sockaddr_storage& theirs,
                   std::chrono::seconds limit);

}  // namespace flotilla::comm
