// flotilla/device/allocator.h
//
// Memory that tensors and plans live in.

#pragma once

#include <cstdint>
#include <memory>

namespace flotilla {

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

  void* data() const { return data_; }
  int64_t size() const { return bytes_; }

 private:
  void* data_;
  int64_t bytes_;
  std::shared_ptr<void> owner_;  // set: not ours to free
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
