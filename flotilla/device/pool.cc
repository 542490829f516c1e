#include "flotilla/device/pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/guard.h"

namespace flotilla {
namespace {

constexpr int64_t kLeast = 256;
// Four classes to each doubling: 256, 320, 384, 448, 512, 640, ...
constexpr int64_t kSteps = 4;

size_t class_of(int64_t bytes) {
  const uint64_t units = static_cast<uint64_t>(std::max(bytes, kLeast) - 1) / (kLeast / kSteps);
  // Past the first classes a step is 2^doublings units.
  const int64_t doublings = std::max<int64_t>(
      0, static_cast<int64_t>(std::bit_width(units)) - std::bit_width(uint64_t{kSteps}));
  const int64_t step = static_cast<int64_t>(units >> doublings) + 1;
  return static_cast<size_t>(doublings * kSteps + step - kSteps);
}

int64_t size_of_class(size_t c) {
  const int64_t doublings = static_cast<int64_t>(c) / kSteps;
  const int64_t step = static_cast<int64_t>(c) % kSteps + kSteps;
  return (kLeast / kSteps * step) << doublings;
}

}  // namespace

Pool::Block& Pool::Block::operator=(Block&& other) noexcept {
  if (this != &other) {
    give_back();
    pool_ = std::exchange(other.pool_, nullptr);
    buffer_ = std::exchange(other.buffer_, nullptr);
  }
  return *this;
}

void Pool::Block::give_back() {
  if (buffer_ == nullptr) return;
  const size_t c = class_of(buffer_->size());
  unguard(buffer_->data(), buffer_->size());
  if (c < pool_->free_.size()) pool_->free_[c].push_back(std::move(buffer_));
  buffer_ = nullptr;
}

Pool::Block Pool::take(int64_t bytes) {
  require(bytes >= 0 && bytes <= int64_t{1} << 48, "a block cannot have {} bytes", bytes);
  const size_t c = class_of(bytes);
  if (free_.size() <= c) free_.resize(c + 1);
  std::vector<std::shared_ptr<Buffer>>& idle = free_[c];
  if (idle.empty()) idle.push_back(Buffer::make(size_of_class(c)));
  std::shared_ptr<Buffer> buffer = std::move(idle.back());
  idle.pop_back();
  guard(static_cast<char*>(buffer->data()) + bytes, buffer->size() - bytes);
  return Block(this, std::move(buffer));
}

int64_t Pool::idle_bytes() const {
  int64_t bytes = 0;
  for (const auto& idle : free_) {
    for (const auto& buffer : idle) bytes += buffer->size();
  }
  return bytes;
}

}  // namespace flotilla
