#include "flotilla/rpc/payload.h"

#include <new>

namespace flotilla::rpc {

Payload::Payload(size_t bytes) {
  constexpr std::align_val_t kAlignment{kPayloadAlignment};
  void* memory = ::operator new(bytes, kAlignment);
  owner_.reset(memory, [](void* p) { ::operator delete(p, kAlignment); });
  memory_ = {static_cast<std::byte*>(memory), bytes};
}

}  // namespace flotilla::rpc
