#include "flotilla/data/batch_buffers.h"

#include <algorithm>
#include <vector>

#include "flotilla/base/mutex.h"

namespace flotilla::data {

struct BatchBuffers::Idle {
  // More than a loader has under way; what is beyond goes back to the system.
  static constexpr size_t kMost = 64;

  Mutex mutex;
  std::vector<std::shared_ptr<Buffer>> buffers FLT_GUARDED_BY(mutex);

  // The smallest that fits and of which no more than half would be wasted.
  std::shared_ptr<Buffer> take(int64_t bytes) {
    MutexLock lock(mutex);
    size_t best = buffers.size();
    for (size_t i = 0; i < buffers.size(); ++i) {
      const int64_t size = buffers[i]->size();
      if (size < bytes || size > 2 * bytes) continue;
      if (best == buffers.size() || size < buffers[best]->size()) best = i;
    }
    if (best == buffers.size()) return nullptr;
    std::shared_ptr<Buffer> found = std::move(buffers[best]);
    buffers.erase(buffers.begin() + static_cast<std::ptrdiff_t>(best));
    return found;
  }

  void give_back(std::shared_ptr<Buffer> buffer) {
    MutexLock lock(mutex);
    if (buffers.size() < kMost) buffers.push_back(std::move(buffer));
  }
};

BatchBuffers::BatchBuffers() : idle_(std::make_shared<Idle>()) {}
BatchBuffers::~BatchBuffers() = default;

Tensor BatchBuffers::make(DType dtype, Shape shape) {
  const int64_t bytes = shape.numel() * size_of(dtype);
  std::shared_ptr<Buffer> buffer = idle_->take(bytes);
  if (buffer == nullptr) buffer = Buffer::make(bytes);
  void* data = buffer->data();
  // Dies with the last tensor that uses the memory.
  std::shared_ptr<void> lease(data, [idle = idle_, buffer = std::move(buffer)](void*) mutable {
    idle->give_back(std::move(buffer));
  });
  return Tensor(dtype, std::move(shape), {}, Buffer::borrow(data, bytes, std::move(lease)));
}

int64_t BatchBuffers::idle_bytes() const {
  MutexLock lock(idle_->mutex);
  int64_t bytes = 0;
  for (const std::shared_ptr<Buffer>& buffer : idle_->buffers) bytes += buffer->size();
  return bytes;
}

}  // namespace flotilla::data
