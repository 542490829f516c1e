#include "flotilla/rpc/window_pool.h"

#include <algorithm>

#include "flotilla/base/error.h"

namespace flotilla::rpc {
namespace {

// Less than this is as fast inside of a message.
constexpr size_t kWorthIt = 2048;

constexpr size_t kFirstWindow = size_t{4} << 20;
constexpr size_t kPage = 4096;

}  // namespace

void WindowPool::begin(std::function<void(const WindowCard&)> show) {
  const MutexLock lock(mutex_);
  entries_.clear();
  client_ = new_client_key();
  show_ = std::move(show);
}

void WindowPool::verdict(uint32_t number, bool opened) {
  const MutexLock lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.number == number) entry.opened = opened;
  }
  // It is on another host after all, or may not look into this process: no more of them.
  if (!opened) {
    entries_.clear();
    show_ = nullptr;
  }
}

void WindowPool::end() {
  const MutexLock lock(mutex_);
  entries_.clear();
  show_ = nullptr;
}

Payload WindowPool::allocate(size_t bytes) {
  if (bytes >= kWorthIt) {
    const MutexLock lock(mutex_);
    if (std::optional<Payload> found = allocate_from(bytes, false)) return std::move(*found);
    grow(bytes);
    if (std::optional<Payload> found = allocate_from(bytes, false)) return std::move(*found);
  }
  return Payload(bytes);
}

std::optional<Payload> WindowPool::allocate_opened(size_t bytes) {
  if (bytes < kWorthIt) return std::nullopt;
  const MutexLock lock(mutex_);
  std::optional<Payload> found = allocate_from(bytes, true);
  // What is made now is open by the time of a later call.
  if (!found && !allocate_from(bytes, false)) grow(bytes);
  return found;
}

std::optional<Payload> WindowPool::allocate_from(size_t bytes, bool opened_only) {
  for (const Entry& entry : entries_) {
    if (opened_only && !entry.opened) continue;
    if (std::optional<Payload> found = entry.window->allocate(bytes)) return found;
  }
  return std::nullopt;
}

void WindowPool::grow(size_t bytes) {
  if (!show_) return;
  size_t total = 0;
  for (const Entry& entry : entries_) total += entry.window->size();
  const size_t needed = bytes + sizeof(WindowMark) + kPayloadAlignment;
  if (total > limit_ || needed > limit_ - total) return;
  size_t wanted = std::max({kFirstWindow, total, needed});
  wanted = std::min((wanted + kPage - 1) / kPage * kPage, limit_ - total);
  try {
    auto window = Window::make(client_, next_, wanted);
    show_(window->card());
    entries_.push_back({.window = std::move(window), .number = next_++});
  } catch (const Error&) {
    // No memory to share: the heap may have some, and says so where it has not.
  }
}

std::optional<WindowPool::Reference> WindowPool::find(const Payload& payload) const {
  const MutexLock lock(mutex_);
  for (const Entry& entry : entries_) {
    if (!entry.window->holds(payload)) continue;
    if (!entry.opened) return std::nullopt;
    return Reference{
        .client = client_, .window = entry.number, .place = entry.window->place_of(payload)};
  }
  return std::nullopt;
}

void WindowPool::retire(const Payload& payload) {
  const MutexLock lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.window->holds(payload); });
}

}  // namespace flotilla::rpc
