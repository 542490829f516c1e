// flotilla/device/pool.h
//
// Memory for sizes that are known only when a step runs, beside the arena of a plan: blocks come
// from free lists and go back to them, so that a loop over changing sizes soon allocates nothing.
//
// Thread safety: none. A pool belongs to one plan, which runs in one thread at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "flotilla/device/allocator.h"

namespace flotilla {

class Pool {
 public:
  // Holds memory until it dies, then gives it back to its pool. REQUIRES: dies before the pool
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept { *this = std::move(other); }
    Block& operator=(Block&& other) noexcept;
    ~Block() { give_back(); }

    void* data() const { return buffer_ == nullptr ? nullptr : buffer_->data(); }
    // At least what was asked for.
    int64_t size() const { return buffer_ == nullptr ? 0 : buffer_->size(); }

   private:
    friend class Pool;
    Block(Pool* pool, std::shared_ptr<Buffer> buffer) : pool_(pool), buffer_(std::move(buffer)) {}
    void give_back();

    Pool* pool_ = nullptr;
    std::shared_ptr<Buffer> buffer_;
  };

  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // At least `bytes` bytes, aligned to 64, that hold anything. At most a fifth of a block is waste.
  Block take(int64_t bytes);

  // Bytes that lie in the free lists.
  int64_t idle_bytes() const;
  // Gives them back to the system.
  void trim() { free_.clear(); }

 private:
  // free_[c] holds the idle blocks of size class c.
  std::vector<std::vector<std::shared_ptr<Buffer>>> free_;
};

}  // namespace flotilla
