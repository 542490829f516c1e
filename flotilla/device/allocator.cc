#include "flotilla/device/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "flotilla/base/error.h"

namespace flotilla {
namespace {

constexpr int64_t kAlignment = 64;
// From here on a buffer is a mapping of its own: given back to the system at once when it dies, and
// worth huge pages.
constexpr int64_t kMapped = int64_t{4} << 20;
// More than any machine has, and far from where sizes overflow.
constexpr int64_t kMost = int64_t{1} << 56;

std::atomic<int64_t> live_bytes = 0;
std::atomic<int64_t> peak_bytes = 0;

void count(int64_t bytes) {
  const int64_t live = live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

}  // namespace

std::shared_ptr<Buffer> Buffer::make(int64_t bytes) {
  require(bytes >= 0 && bytes <= kMost, "a buffer cannot have {} bytes", bytes);
  const int64_t rounded = std::max<int64_t>((bytes + kAlignment - 1) / kAlignment, 1) * kAlignment;
  void* data = nullptr;
  const bool mapped = rounded >= kMapped;
  if (mapped) {
    data = mmap(nullptr, static_cast<size_t>(rounded), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) data = nullptr;
    if (data != nullptr) madvise(data, static_cast<size_t>(rounded), MADV_HUGEPAGE);
  } else {
    data = std::aligned_alloc(kAlignment, static_cast<size_t>(rounded));
    if (data != nullptr) std::memset(data, 0, static_cast<size_t>(rounded));
  }
  require(data != nullptr, "there is no memory for a buffer of {} bytes ({} bytes are in use)",
          bytes, memory_use().live);
  count(rounded);
  return std::make_shared<Buffer>(data, rounded, nullptr, mapped);
}

std::shared_ptr<Buffer> Buffer::borrow(void* data, int64_t bytes, std::shared_ptr<void> owner) {
  // An owner that is null would make the buffer ours to free.
  if (owner == nullptr) owner = std::make_shared<int>(0);
  return std::make_shared<Buffer>(data, bytes, std::move(owner), false);
}

Buffer::Buffer(void* data, int64_t bytes, std::shared_ptr<void> owner, bool mapped)
    : data_(data), bytes_(bytes), owner_(std::move(owner)), mapped_(mapped) {}

Buffer::~Buffer() {
  if (owner_ != nullptr) return;
  live_bytes.fetch_sub(bytes_, std::memory_order_relaxed);
  if (mapped_) {
    munmap(data_, static_cast<size_t>(bytes_));
  } else {
    std::free(data_);
  }
}

MemoryUse memory_use() {
  return {live_bytes.load(std::memory_order_relaxed), peak_bytes.load(std::memory_order_relaxed)};
}

}  // namespace flotilla
