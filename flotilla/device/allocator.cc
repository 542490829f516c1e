#include "flotilla/device/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "flotilla/base/error.h"
#include "flotilla/base/guard.h"
#include "flotilla/device/twin.h"

namespace flotilla {
namespace {

// From here on a buffer is a mapping of its own: given back to the system at once when it dies, and
// worth huge pages.
constexpr int64_t kMapped = int64_t{4} << 20;
// More than any machine has, and far from where sizes overflow.
constexpr int64_t kMost = int64_t{1} << 56;

// From here on it is worth to ask the system how much it has: it would give more than that, and end
// the process when the pages are touched.
constexpr int64_t kWorthAsking = int64_t{64} << 20;
constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

std::atomic<int64_t> live_bytes = 0;
std::atomic<int64_t> peak_bytes = 0;
std::atomic<int64_t> limit_bytes = kNoLimit;

// The number in a file that holds one, as those of a cgroup do; kNoLimit where there is none.
int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  int64_t number = kNoLimit;
  return file >> number ? number : kNoLimit;
}

// What the cgroup of this process, or one around it, may still take. Its page cache can be dropped.
int64_t left_in_cgroup() {
  std::ifstream file("/proc/self/cgroup");
  int64_t left = kNoLimit;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("0::")) continue;
    for (std::string group = line.substr(3);; group.resize(group.rfind('/'))) {
      const std::string folder = "/sys/fs/cgroup" + (group == "/" ? "" : group);
      const int64_t most = number_in(folder + "/memory.max");
      const int64_t used = number_in(folder + "/memory.current");
      if (most != kNoLimit && used != kNoLimit) {
        int64_t cache = 0;
        std::ifstream stat(folder + "/memory.stat");
        std::string key;
        for (int64_t value = 0; stat >> key >> value;) {
          if (key == "inactive_file" || key == "active_file") cache += value;
        }
        left = std::min(left, std::max<int64_t>(0, most - used + cache));
      }
      if (group.find('/') == std::string::npos || group.size() < 2) break;
    }
  }
  return left;
}

int64_t left_in_system() {
  std::ifstream file("/proc/meminfo");
  int64_t left = 0;
  bool found = false;
  for (std::string key, rest; file >> key; std::getline(file, rest)) {
    int64_t kilobytes = 0;
    if (!(file >> kilobytes)) break;
    found = found || key == "MemAvailable:";
    if (key == "MemAvailable:" || key == "SwapFree:") left += kilobytes * 1024;
  }
  return found ? left : kNoLimit;
}

void count(int64_t bytes) {
  const int64_t live = live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

}  // namespace

std::shared_ptr<Buffer> Buffer::make(int64_t bytes) {
  require(bytes >= 0 && bytes <= kMost, "a buffer cannot have {} bytes", bytes);
  const int64_t rounded =
      std::max<int64_t>((bytes + kBufferAlignment - 1) / kBufferAlignment, 1) * kBufferAlignment;
  const int64_t left = rounded >= kWorthAsking
                           ? memory_left()
                           : limit_bytes.load(std::memory_order_relaxed) - memory_use().live;
  require(rounded <= left,
          "cannot allocate a buffer of {} bytes ({} bytes are in use, {} are available)", bytes,
          memory_use().live, std::max<int64_t>(0, left));
  void* data = nullptr;
  const bool mapped = rounded >= kMapped;
  if (mapped) {
    data = mmap(nullptr, static_cast<size_t>(rounded), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) data = nullptr;
    if (data != nullptr) madvise(data, static_cast<size_t>(rounded), MADV_HUGEPAGE);
  } else {
    data = std::aligned_alloc(kBufferAlignment, static_cast<size_t>(rounded));
    if (data != nullptr) std::memset(data, 0, static_cast<size_t>(rounded));
  }
  require(data != nullptr, "cannot allocate a buffer of {} bytes ({} bytes are in use)", bytes,
          memory_use().live);
  count(rounded);
  guard(static_cast<char*>(data) + bytes, rounded - bytes);
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
  delete twin_.load();
  if (owner_ != nullptr) return;
  live_bytes.fetch_sub(bytes_, std::memory_order_relaxed);
  unguard(data_, bytes_);
  if (mapped_) {
    munmap(data_, static_cast<size_t>(bytes_));
  } else {
    std::free(data_);
  }
}

void* Buffer::on(Backend& device, DeviceUse use) {
  Twin* twin = twin_.load(std::memory_order_acquire);
  if (twin == nullptr) {
    auto made = std::make_unique<Twin>(data_, bytes_);
    if (twin_.compare_exchange_strong(twin, made.get())) twin = made.release();
  }
  return twin->on(device, use);
}

void Buffer::take_back() const { twin_.load()->take_back(); }

int64_t memory_left() {
  const int64_t of_limit = limit_bytes.load(std::memory_order_relaxed) - memory_use().live;
  return std::max<int64_t>(0, std::min({of_limit, left_in_system(), left_in_cgroup()}));
}

void require_room(int64_t bytes) {
  constexpr int64_t kWorthAsking = int64_t{1} << 20;
  if (bytes < kWorthAsking) return;
  const int64_t most = memory_left() + memory_use().live;
  require(bytes <= most, "the program needs {} bytes of memory at once, but only {} are available",
          bytes, most);
}

void set_memory_limit(int64_t bytes) { limit_bytes.store(bytes, std::memory_order_relaxed); }

MemoryUse memory_use() {
  return {live_bytes.load(std::memory_order_relaxed), peak_bytes.load(std::memory_order_relaxed)};
}

}  // namespace flotilla
