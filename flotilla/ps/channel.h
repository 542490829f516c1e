// flotilla/ps/channel.h
//
// What carries requests to servers and answers back, seen from both ends. Nothing here knows what
// is in them (request.h), nor a network: rpc_channel.h has one, and tests call a Service directly.

#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/error.h"

namespace flotilla::ps {

// Memory of a request or an answer, from a multiple of 8 on. Copies share it.
struct Bytes {
  std::span<std::byte> data = {};
  std::shared_ptr<void> owner = {};
};

inline Bytes heap_bytes(size_t bytes) {
  const auto memory = std::make_shared<std::vector<uint64_t>>((bytes + 7) / 8);
  return {std::as_writable_bytes(std::span(*memory)).first(bytes), memory};
}

// One server, as a worker reaches it. Thread safety: all calls, from any thread.
class Channel {
 public:
  virtual ~Channel() = default;

  virtual Bytes allocate(size_t bytes) = 0;

  // Calls `done` once, from any thread, also from this one: with the answer, or with what went
  // wrong. kUnavailable: nobody knows whether the server has seen the request; it may be sent
  // again. `room`: how long the answer is, where that is known. Keeps a copy of `request`.
  using Done = std::function<void(Bytes answer, std::exception_ptr error)>;
  virtual void call(const Bytes& request, size_t room, Done done) = 0;

  // Ends all calls, now and later, with kUnavailable.
  virtual void cancel(const std::string& reason) = 0;
};

// A request at the server. Answered or refused exactly once, from any thread.
class Call {
 public:
  virtual ~Call() = default;

  virtual std::span<const std::byte> request() const = 0;
  // Memory for the answer. At most once.
  virtual std::span<std::byte> room(size_t bytes) = 0;
  // With what was written there; without room(), nothing.
  virtual void answer() = 0;
  virtual void refuse(const Error& error) = 0;
};

}  // namespace flotilla::ps
