#include "flotilla/ps/row_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

#include "flotilla/base/error.h"

namespace flotilla::ps {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

size_t round_up(size_t n, size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

size_t stride_for(size_t bytes) {
  const size_t small = round_up(bytes, 16), lines = round_up(bytes, 64);
  return lines - small <= small / 8 ? lines : small;
}

// Aligned to huge pages; what lies over on either side is given back.
std::byte* map_aligned(size_t bytes) {
  void* mapped = ::mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* begin = static_cast<std::byte*>(mapped);
  const size_t before = -reinterpret_cast<uintptr_t>(begin) % kHugePage;
  if (before > 0) ::munmap(begin, before);
  ::munmap(begin + before + bytes, kHugePage - before);
  ::madvise(begin + before, bytes, MADV_HUGEPAGE);  // a wish: smaller pages are right too
  return begin + before;
}

}  // namespace

RowArena::RowArena(size_t row_bytes) : stride_(stride_for(row_bytes)) {
  const size_t rows = std::bit_ceil(std::max<size_t>(kHugePage / stride_, 1));
  shift_ = std::countr_zero(rows);
  mask_ = static_cast<uint32_t>(rows - 1);
  chunk_bytes_ = round_up(rows * stride_, kHugePage);
}

RowArena::~RowArena() {
  for (std::byte* chunk : chunks_) ::munmap(chunk, chunk_bytes_);
}

uint32_t RowArena::take() {
  if (!free_.empty()) {
    const uint32_t row = free_.back();
    free_.pop_back();
    return row;
  }
  if ((used_ >> shift_) == chunks_.size()) add_chunk();
  return used_++;
}

void RowArena::add_chunk() {
  require(used_ <= 0xffffffffu - mask_ - 1,
          "a thread of a table holds {} rows and can hold no more", used_);
  chunks_.push_back(map_aligned(chunk_bytes_));
}

}  // namespace flotilla::ps
