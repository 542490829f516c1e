// flotilla/rpc/payload.h
//
// The bytes of a request or of its answer, from where they are written to where they are read
// without a copy that can be spared.

#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace flotilla::rpc {

// A payload begins at a multiple of this, so that arrays in it can be used where they lie.
inline constexpr size_t kPayloadAlignment = 64;

// Frees what it holds when the last one that shares it goes.
//
// Thread safety: as a std::shared_ptr; the bytes themselves are not guarded.
class Payload {
 public:
  Payload();
  // On the heap, of any value.
  explicit Payload(size_t bytes);
  // `memory` lives as long as `owner`.
  Payload(std::span<std::byte> memory, std::shared_ptr<const void> owner);

  // None of these is inline: who counts owners is compiled once, so that tsan sees all of it, also
  // where it does not see into the caller (gRPC's headers).
  ~Payload();
  Payload(Payload&& other) noexcept;
  Payload& operator=(Payload&& other) noexcept;
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;

  std::span<std::byte> bytes() { return memory_; }
  std::span<const std::byte> bytes() const { return memory_; }
  size_t size() const { return memory_.size(); }

  // Keeps the first bytes only. REQUIRES: bytes <= size()
  void shrink(size_t bytes) { memory_ = memory_.first(bytes); }

  // Without its first bytes. REQUIRES: bytes <= size()
  void drop_front(size_t bytes) { memory_ = memory_.subspan(bytes); }

  // The same bytes once more, without a copy: to send them again where a call fails, or to many.
  // REQUIRES: nobody writes to them from here on
  Payload share() const;

 private:
  std::span<std::byte> memory_;
  std::shared_ptr<const void> owner_;
};

}  // namespace flotilla::rpc
