#include "flotilla/device/cuda/memory.h"

#include "flotilla/device/cuda/check.h"

namespace flotilla::cuda {
namespace {

cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.handle); }

// CUDA gives no address for zero bytes.
size_t at_least_one(int64_t bytes) {
  require(bytes >= 0, "a buffer cannot have {} bytes", bytes);
  return bytes == 0 ? 1 : static_cast<size_t>(bytes);
}

}  // namespace

std::shared_ptr<Buffer> device_buffer(int64_t bytes) {
  void* data = nullptr;
  check(cudaMalloc(&data, at_least_one(bytes)), "allocate {} bytes on the GPU", bytes);
  std::shared_ptr<void> owner(data, [](void* p) { static_cast<void>(cudaFree(p)); });
  return Buffer::borrow(data, bytes, std::move(owner));
}

std::shared_ptr<Buffer> pinned_buffer(int64_t bytes) {
  void* data = nullptr;
  check(cudaMallocHost(&data, at_least_one(bytes)), "pin {} bytes of the host", bytes);
  std::shared_ptr<void> owner(data, [](void* p) { static_cast<void>(cudaFreeHost(p)); });
  return Buffer::borrow(data, bytes, std::move(owner));
}

void copy(void* to, const void* from, int64_t bytes, Stream stream) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, native(stream)),
        "copy {} bytes", bytes);
}

void fill(void* to, uint8_t value, int64_t bytes, Stream stream) {
  if (bytes == 0) return;
  check(cudaMemsetAsync(to, value, static_cast<size_t>(bytes), native(stream)), "fill {} bytes",
        bytes);
}

}  // namespace flotilla::cuda
