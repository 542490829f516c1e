// flotilla/data/batch_queue.h
//
// Batches on their way from a writer, the thread that runs a user's generator, to a run of a
// program that reads them. A pass begins with start() and ends with reset().
//
//   (start next* reset)*      push, close and fail come from the writer of the pass
//
// Thread safety: all calls, from any thread.

#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/mutex.h"
#include "flotilla/data/batch.h"
#include "flotilla/data/channel.h"

namespace flotilla::data {

class BatchQueue final : public BatchSource {
 public:
  // The writer's end of one pass. What is written after the pass was reset goes nowhere.
  using Pass = std::shared_ptr<Channel<Batch>>;

  // `while_waiting` is called about twenty times a second by a thread that waits for a batch; what
  // it throws ends the wait. REQUIRES: capacity > 0
  explicit BatchQueue(int64_t capacity, std::function<void()> while_waiting = {})
      : capacity_(static_cast<size_t>(capacity)), while_waiting_(std::move(while_waiting)) {}
  ~BatchQueue() override { reset(); }

  // Begins a pass; one that was begun before is dropped.
  Pass start() {
    reset();
    MutexLock lock(mutex_);
    return pass_ = std::make_shared<Channel<Batch>>(capacity_);
  }

  // Ends a pass, at its end or before. Batches that were not read are dropped.
  void reset() {
    if (const Pass ended = take()) ended->cancel();
  }

  // Refuses to wait for a pass that was not begun.
  std::optional<Batch> next() override {
    const Pass pass = current();
    require(pass != nullptr,
            "the program reads from a loader that was not started: call its start() before each "
            "pass, and reset() after it");
    constexpr std::chrono::milliseconds kTick{50};
    while (while_waiting_ && !pass->wait_until(std::chrono::steady_clock::now() + kTick)) {
      while_waiting_();
    }
    return pass->pop();
  }

  std::optional<Batch> peek() override {
    const Pass pass = current();
    return pass == nullptr ? std::nullopt : pass->peek();
  }

  // How many batches of the pass wait to be read, and how many may.
  int64_t size() {
    const Pass pass = current();
    return pass == nullptr ? 0 : static_cast<int64_t>(pass->size());
  }
  int64_t capacity() const { return static_cast<int64_t>(capacity_); }

 private:
  Pass current() {
    MutexLock lock(mutex_);
    return pass_;
  }
  Pass take() {
    MutexLock lock(mutex_);
    return std::exchange(pass_, nullptr);
  }

  const size_t capacity_;
  const std::function<void()> while_waiting_;
  Mutex mutex_;
  Pass pass_ FLT_GUARDED_BY(mutex_);
};

}  // namespace flotilla::data
