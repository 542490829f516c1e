// flotilla/rpc/messages.h
//
// gRPC's buffers from and to headers and payloads. Not for headers that others include.

#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstring>
#include <vector>

#include "flotilla/rpc/payload.h"

namespace flotilla::rpc {

// A message of a header alone, or with a payload behind it that is sent from where it lies.
template <typename Header>
grpc::ByteBuffer to_message(const Header& header) {
  const grpc::Slice slice(&header, sizeof header);
  return {&slice, 1};
}

template <typename Header>
grpc::ByteBuffer to_message(const Header& header, const Payload& payload) {
  if (payload.size() == 0) return to_message(header);
  auto* shared = new Payload(payload.share());  // gRPC gives it back when it has sent it
  const grpc::Slice slices[] = {grpc::Slice(&header, sizeof header),
                                grpc::Slice(
                                    shared->bytes().data(), shared->size(),
                                    [](void* p) { delete static_cast<Payload*>(p); }, shared)};
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

// What stands behind the header. REQUIRES: the message is at least that long
inline Payload behind(Payload message, size_t header_bytes) {
  std::span<std::byte> rest = message.bytes().subspan(header_bytes);
  return {rest, std::make_shared<Payload>(std::move(message))};
}

}  // namespace flotilla::rpc
