// flotilla/rpc/data_client.h
//
// Calls a server of the job (data_server.h) with bytes and gets bytes back. Many calls may be
// under way at a time; each ends with an answer, or with an error as soon as the server or the
// connection is gone. There are no deadlines: an answer may take as long as the server lives.
//
//   DataClient client({.address = address, .token = token});
//   Payload request = client.allocate(bytes);
//   ... write request.bytes() ...
//   client.call(std::move(request), room, [](Payload reply, std::exception_ptr error) { ... });
//
// Where both are on one host, what allocate() gives and the room for the answer lie in memory that
// is shared with the server (window.h), and no payload is copied.
//
// Thread safety: all calls, from any thread.

#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "flotilla/rpc/payload.h"
#include "flotilla/rpc/tls.h"

namespace flotilla::rpc {

class DataClient {
 public:
  struct Options {
    std::string address = {};
    std::string token = {};
    Tls tls = Tls::from_environment();

    // How long the server may take to appear.
    std::chrono::milliseconds patience = std::chrono::seconds(60);
    // Asked about ten times a second while the server is waited for: true ends that with
    // kUnavailable.
    std::function<bool()> stop = {};

    // The largest request and answer, in bytes.
    size_t max_message = size_t{1} << 30;

    // How much memory may be shared with a server on this host; 0: none.
    size_t shared_bytes = size_t{1} << 30;
  };

  // Since the beginning.
  struct Stats {
    uint64_t calls = 0;
    uint64_t shared_requests = 0;  // whose payload the server read where it lay
    uint64_t shared_replies = 0;   // whose payload the server wrote where it was read
  };

  // Refuses a server that does not answer in time.
  explicit DataClient(Options options);
  // Cancels what is under way and waits until all of it is done; inside of a Done, without waiting.
  ~DataClient();
  DataClient(const DataClient&) = delete;
  DataClient& operator=(const DataClient&) = delete;

  // Memory for a request, of any value; it may outlive the client.
  Payload allocate(size_t bytes);

  // Called once, from a thread of gRPC's; must not block for long, and must not throw. An error is
  // what the server refused with, or
  //   kUnavailable      the server is gone, the connection is lost, or cancel() was called. Nobody
  //                     knows whether the server has done what it was asked
  //   kInvalidArgument  the server does not know this client's token, or a message is too large
  using Done = std::function<void(Payload reply, std::exception_ptr error)>;

  // `room`: how large the answer is expected to be at most; a larger one comes all the same, but
  // slower. REQUIRES: nobody writes to the request any more; keep request.share() to send it again.
  void call(Payload request, size_t room, Done done);

  // Ends all calls, now and later, with kUnavailable and this reason.
  void cancel(const std::string& reason);

  Stats stats() const;

 private:
  class Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace flotilla::rpc
