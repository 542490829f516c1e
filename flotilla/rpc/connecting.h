// flotilla/rpc/connecting.h
//
// The first connection of a client, and why there is none: gRPC tries again for ever, also where
// two ends will never agree on TLS.

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "flotilla/rpc/tls.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace flotilla::rpc {

// Waits until `channel` stands. True: it does. False: `patience` is over, or `stop`, which is asked
// about ten times a second, has said so. Refuses at once, with kUnavailable and a sentence, where
// it never will: one end speaks TLS and the other does not, one does not accept the certificate of
// the other, or the host is unknown (patience_with_names()).
bool wait_for_connection(grpc::Channel& channel, const std::string& address, const Tls& tls,
                         std::chrono::milliseconds patience,
                         const std::function<bool()>& stop = {});

}  // namespace flotilla::rpc
