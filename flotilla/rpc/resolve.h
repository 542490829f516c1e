// flotilla/rpc/resolve.h
//
// The addresses of a host. The system's resolver cannot be interrupted, and takes half a minute or
// more where a name server does not answer; here whoever waits for it can give up.

#pragma once

#include <netdb.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>

namespace flotilla::rpc {

struct HostQuery {
  std::string host = {};  // a name or an address
  std::string port = {};  // digits; empty: none
  int type = SOCK_STREAM;
  int flags = 0;  // AI_...
};

struct Resolved {
  int error = 0;  // EAI_...; 0: there are addresses
  std::shared_ptr<const addrinfo> addresses = {};

  bool ok() const { return error == 0; }
  // "cannot be resolved: Name or service not known", "is still being looked up"
  std::string problem() const;
};

// Asks the system, for as long as that takes.
Resolved ask_system(const HostQuery& query);

// The same, but ends with EAI_CANCELED a moment after `stop` has said so, and with what it throws.
// It is asked about twenty times a second; without one this waits for as long as it takes. What
// nobody waits for any more goes on in a thread of its own: `how` must not need the caller.
using Resolver = std::function<Resolved(const HostQuery&)>;
Resolved resolve(const HostQuery& query, const std::function<bool()>& stop = {},
                 const Resolver& how = ask_system);

// "10.0.0.1", "::1"
std::string numeric_text(const sockaddr* address, socklen_t size);

}  // namespace flotilla::rpc
