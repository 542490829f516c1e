// flotilla/rpc/data_server.h
//
// Answers requests that are bytes, from the processes of the job (data_client.h). An answer may
// come much later than its request, and from any thread: nothing is blocked in between.
//
//   DataServer server({.token = token, .on_call = [](std::shared_ptr<DataCall> call) {
//     Payload reply = call->allocate(call->request().size());
//     std::ranges::copy(call->request(), reply.bytes().begin());
//     call->answer(std::move(reply));
//   }});
//
// Payloads of clients on this host lie in memory that both share (window.h): such a request is
// read where the client wrote it, and what allocate() gives is where the client reads the answer.
// Only those who know the job's token get that far; they are trusted not to change a request after
// they have sent it, but a decoder should still read each length once.
//
// Thread safety: all calls, from any thread.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/fd.h"
#include "flotilla/rpc/payload.h"
#include "flotilla/rpc/tls.h"

namespace flotilla::rpc {

// A request that waits for its answer. Dropped without one: the client gets an error. What comes
// after the first answer, or when the client is gone, does nothing.
class DataCall {
 public:
  virtual ~DataCall() = default;

  // Aligned as a payload. Valid until the answer.
  virtual std::span<const std::byte> request() const = 0;
  // Memory for the answer: where the client expects it if there is room, else on the heap.
  virtual Payload allocate(size_t bytes) = 0;
  // Any payload will do; one that is given to several calls is shared, see Payload::share().
  virtual void answer(Payload reply) = 0;
  // The client gets this error: its kind and its sentence.
  virtual void refuse(const Error& error) = 0;
  // Nobody waits for the answer any more.
  virtual bool abandoned() const = 0;
};

class DataServer {
 public:
  struct Options {
    // Host and port to listen on; port 0 takes one that is free.
    std::string address = "127.0.0.1:0";
    std::function<bool()> stop = {};  // as that of StoreServer::Options

    // A socket that listens already, e.g. one that the launcher keeps across a restart; then
    // `address` says only by which host it is reached.
    Fd listener = {};

    // Calls without it are refused and counted. REQUIRES: not empty
    std::string token = {};

    // Hosts and addresses from which calls are taken; empty: any.
    std::vector<std::string> only_from = {};

    Tls tls = Tls::from_environment();

    // The largest request, in bytes.
    size_t max_message = size_t{1} << 30;

    // Called from gRPC's threads, many at a time; must not block. An error that it throws is the
    // answer.
    std::function<void(std::shared_ptr<DataCall>)> on_call = {};
  };

  // Since the beginning.
  struct Stats {
    uint64_t calls = 0;            // given to on_call
    uint64_t without_token = 0;    // refused
    uint64_t wrong_host = 0;       // refused
    uint64_t oversized = 0;        // larger than max_message
    uint64_t malformed = 0;        // no message of ours, or one that refers to what is not there
    uint64_t cut_off = 0;          // ended before the request was there: much larger than
                                   // max_message, or the client went
    uint64_t abandoned = 0;        // the client went before the answer
    uint64_t waiting = 0;          // now
    uint64_t windows_refused = 0;  // could not be opened: not on this host, or not in order
    uint64_t windows = 0;          // now: memory shared with clients of this host
    uint64_t window_bytes = 0;
    uint64_t unauthenticated = 0;  // now: connections that have not shown the token yet
  };

  // Refuses an address that cannot be listened on.
  explicit DataServer(Options options);
  // Ends all calls that wait: their clients get kUnavailable.
  ~DataServer();
  DataServer(const DataServer&) = delete;
  DataServer& operator=(const DataServer&) = delete;

  // Host and port, with the port that was taken.
  const std::string& address() const;

  Stats stats() const;

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace flotilla::rpc
