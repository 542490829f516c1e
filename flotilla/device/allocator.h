// flotilla/device/allocator.h
//
// Memory that tensors and plans live in.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace flotilla {

class Backend;  // device/backend.h
class Twin;     // device/twin.h

// What a device is about to do with the bytes of a buffer: read them, change some of them, or write
// all of them.
enum class DeviceUse { kRead, kChange, kReplace };

// Buffers are as long as a multiple of it, and begin at one.
inline constexpr int64_t kBufferAlignment = 64;

// A block of memory, aligned to 64 bytes. Shared where a tensor, a plan and Python hold it.
class Buffer {
 public:
  // Large buffers come untouched from the system: pages that are never written cost nothing.
  // Zero-filled. Refuses with the number of bytes where there is not enough memory.
  static std::shared_ptr<Buffer> make(int64_t bytes);
  // Memory that somebody else owns; `owner` keeps it alive.
  static std::shared_ptr<Buffer> borrow(void* data, int64_t bytes, std::shared_ptr<void> owner);

  Buffer(void* data, int64_t bytes, std::shared_ptr<void> owner, bool mapped);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Of the host. What a device wrote is copied back first.
  void* data() const {
    if (twin_.load(std::memory_order_acquire) != nullptr) [[unlikely]]
      take_back();
    return data_;
  }
  // The same bytes in the memory of a device, until data() is called.
  void* on(Backend& device, DeviceUse use);
  int64_t size() const { return bytes_; }

 private:
  void take_back() const;

  void* data_;
  int64_t bytes_;
  std::atomic<Twin*> twin_ = nullptr;  // ours; null: no device has asked for the bytes
  std::shared_ptr<void> owner_;        // set: not ours to free
  bool mapped_;
};

// Bytes of all buffers that are alive now, and the most there ever were.
struct MemoryUse {
  int64_t live = 0;
  int64_t peak = 0;
};
MemoryUse memory_use();

// Bytes that buffers may still take: what the system has to give, to this process alone (its
// cgroup), and what the limit below leaves. Asks the system: not for a step.
int64_t memory_left();
// Refuses what could not be held even if all buffers were gone: for kernels that make tables for
// their outputs before those get memory.
void require_room(int64_t bytes);
// The most bytes that all buffers may take together, for tests and fuzzers; by default no other
// limit than the system's.
void set_memory_limit(int64_t bytes);

}  // namespace flotilla
