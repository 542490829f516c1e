// flotilla/rpc/window_pool.h
//
// All windows of a client, and what is in them. Grows by windows as large as all before together,
// up to a limit; what does not fit, or is not worth it, lies on the heap.
//
// A window is retired when a call that used it has no answer: nobody knows whether the server is
// still at it, so its memory must not be used for something else. It goes with its last payload.
//
// Thread safety: all calls, from any thread.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/rpc/window.h"

namespace flotilla::rpc {

class WindowPool {
 public:
  explicit WindowPool(size_t limit) : limit_(limit) {}

  // From here on windows are made, under a new key. `show` gets the card of each, and must not call
  // the pool.
  void begin(std::function<void(const WindowCard&)> show);
  void verdict(uint32_t number, bool opened);
  // The server knows none of the windows any more.
  void end();

  // In a window or on the heap.
  Payload allocate(size_t bytes);
  // In a window that the server has opened, or nothing.
  std::optional<Payload> allocate_opened(size_t bytes);

  struct Reference {
    ClientKey client = {};
    uint32_t window = kNoWindow;
    Place place = {};
  };
  // Nothing where the payload does not lie in a window that the server has opened.
  std::optional<Reference> find(const Payload& payload) const;

  void retire(const Payload& payload);

 private:
  struct Entry {
    std::shared_ptr<Window> window = {};
    uint32_t number = 0;
    bool opened = false;  // by the server
  };

  std::optional<Payload> allocate_from(size_t bytes, bool opened_only) FLT_REQUIRES(mutex_);
  void grow(size_t bytes) FLT_REQUIRES(mutex_);

  const size_t limit_;
  mutable Mutex mutex_;
  std::function<void(const WindowCard&)> show_ FLT_GUARDED_BY(mutex_);  // none: no windows
  ClientKey client_ FLT_GUARDED_BY(mutex_) = {};
  uint32_t next_ FLT_GUARDED_BY(mutex_) = 0;
  std::vector<Entry> entries_ FLT_GUARDED_BY(mutex_);
};

}  // namespace flotilla::rpc
