// flotilla/rpc/dial.h
//
// One TCP connection, to learn whether a place answers, how fast, and why not. What gRPC says of a
// connection that fails does not tell a wrong name from a closed port or a cut wire.

#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/fd.h"

namespace flotilla::rpc {

// What the resolver says of a host, or an address.
enum class Name {
  kKnown,
  kUnknown,  // it is sure that there is none
  kUnclear,  // it does not answer, has no answer now, or is not waited for
};
// Ends a moment after `stop` has said so (resolve.h).
Name look_up(const std::string& host, const std::function<bool()>& stop = {});

// How long a name may be unknown before nobody waits for it. It may come with its host: within
// seconds for a container, and with any pod of Kubernetes.
std::chrono::milliseconds patience_with_names();

struct Dialed {
  Fd socket = {};            // connected and blocking; none: `problem` says why
  std::string problem = {};  // "nothing listens on its port 6069", "it does not answer", ...
  bool unresolved = false;   // its name is unknown, or unclear
  bool listens_not = false;  // the host answers, but nobody has the port
  double seconds = 0;        // until the connection stood

  bool ok() const { return static_cast<bool>(socket); }
};

// Tries every address of the host until one answers; ends after `patience`, which does not count
// what the resolver takes, or a moment after `stop` has said so.
Dialed dial(const Endpoint& endpoint, std::chrono::milliseconds patience,
            const std::function<bool()>& stop = {});

}  // namespace flotilla::rpc
