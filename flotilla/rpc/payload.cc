#include "flotilla/rpc/payload.h"

#include <new>
#include <utility>

namespace flotilla::rpc {

Payload::Payload() = default;
Payload::~Payload() = default;

Payload::Payload(std::span<std::byte> memory, std::shared_ptr<const void> owner)
    : memory_(memory), owner_(std::move(owner)) {}

Payload::Payload(Payload&& other) noexcept
    : memory_(std::exchange(other.memory_, {})), owner_(std::move(other.owner_)) {}

Payload& Payload::operator=(Payload&& other) noexcept {
  memory_ = std::exchange(other.memory_, {});
  owner_ = std::move(other.owner_);
  return *this;
}

Payload Payload::share() const { return {memory_, owner_}; }

Payload::Payload(size_t bytes) {
  constexpr std::align_val_t kAlignment{kPayloadAlignment};
  void* memory = ::operator new(bytes, kAlignment);
  owner_.reset(memory, [](void* p) { ::operator delete(p, kAlignment); });
  memory_ = {static_cast<std::byte*>(memory), bytes};
}

}  // namespace flotilla::rpc
