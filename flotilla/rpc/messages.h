// flotilla/rpc/messages.h
//
// gRPC's buffers from and to headers and payloads. Not for headers that others include.

#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstring>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/rpc/payload.h"

namespace flotilla::rpc {

// A message of a header alone, or with a payload behind it that is sent from where it lies.
template <typename Header>
grpc::ByteBuffer to_message(const Header& header) {
  const grpc::Slice slice(&header, sizeof header);
  return {&slice, 1};
}

// A payload that gRPC is sending.
class Sent {
 public:
  explicit Sent(const Payload& payload) {
    const MutexLock lock(mutex_);
    payload_ = payload.share();
  }
  ~Sent() {
    // After all that the sender has done. gRPC sees to that as well, but tsan cannot see it.
    const MutexLock lock(mutex_);
    payload_ = {};
  }
  Sent(const Sent&) = delete;
  Sent& operator=(const Sent&) = delete;

 private:
  Mutex mutex_;
  Payload payload_ FLT_GUARDED_BY(mutex_);
};

template <typename Header>
grpc::ByteBuffer to_message(const Header& header, Payload& payload) {
  if (payload.size() == 0) return to_message(header);
  const grpc::Slice slices[] = {
      grpc::Slice(&header, sizeof header),
      grpc::Slice(
          payload.bytes().data(), payload.size(), [](void* p) { delete static_cast<Sent*>(p); },
          new Sent(payload))};
  return {slices, 2};
}

// The whole message in one piece of aligned memory: where it lies if it is that already, else
// copied once.
inline Payload from_message(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  if (!message.Valid() || !message.Dump(&slices).ok()) return {};
  if (slices.size() == 1 &&
      reinterpret_cast<uintptr_t>(slices[0].begin()) % kPayloadAlignment == 0) {
    auto held = std::make_shared<grpc::Slice>(slices[0]);
    // Nobody else reads what was received.
    auto* begin = reinterpret_cast<std::byte*>(const_cast<uint8_t*>(held->begin()));
    return {{begin, held->size()}, std::move(held)};
  }
  Payload joined(message.Length());
  std::byte* to = joined.bytes().data();
  for (const grpc::Slice& slice : slices) {
    if (slice.size() > 0) std::memcpy(to, slice.begin(), slice.size());
    to += slice.size();
  }
  return joined;
}

}  // namespace flotilla::rpc
