// flotilla/data/channel.h
//
// A queue of bounded length between threads. It ends in one of three ways: the writers are done
// (close), something went wrong (fail), or nobody reads any more (cancel). No call blocks after
// the end.
//
// Thread safety: all calls, from any thread.

#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

#include "flotilla/base/mutex.h"

namespace flotilla::data {

template <typename T>
class Channel {
 public:
  // REQUIRES: capacity > 0
  explicit Channel(size_t capacity) : capacity_(capacity) {}

  // Waits while the channel is full. False: it has ended, the value was not taken.
  bool push(T value) {
    MutexLock lock(mutex_);
    while (!ended_ && values_.size() >= capacity_) not_full_.wait(lock);
    if (ended_) return false;
    values_.push_back(std::move(value));
    not_empty_.notify_one();
    return true;
  }

  // Waits while the channel is empty. Nothing: it has ended and all values were read. Throws what
  // fail() was given, after the values that were pushed before.
  std::optional<T> pop() {
    MutexLock lock(mutex_);
    while (!ended_ && values_.empty()) not_empty_.wait(lock);
    if (values_.empty()) {
      if (error_ != nullptr) std::rethrow_exception(error_);
      return std::nullopt;
    }
    return take();
  }

  // What pop() would give at once, where it would; it stays. T is copied.
  std::optional<T> peek() const {
    MutexLock lock(mutex_);
    return values_.empty() ? std::nullopt : std::optional<T>(values_.front());
  }
  // How many values wait to be read.
  size_t size() const {
    MutexLock lock(mutex_);
    return values_.size();
  }
  // What pop() would give at once, where it would.
  std::optional<T> try_pop() {
    MutexLock lock(mutex_);
    return values_.empty() ? std::nullopt : take();
  }

  // Waits until pop() would not; false: the time is over.
  bool wait_until(std::chrono::steady_clock::time_point deadline) {
    MutexLock lock(mutex_);
    while (!ended_ && values_.empty()) {
      if (!not_empty_.wait_until(lock, deadline)) return ended_ || !values_.empty();
    }
    return true;
  }

  // No more pushes.
  void close() { end(nullptr, false); }
  // No more pushes, and the reader shall hear why. The first error counts.
  void fail(std::exception_ptr error) { end(std::move(error), false); }
  // Drops what was not read.
  void cancel() { end(nullptr, true); }

 private:
  std::optional<T> take() FLT_REQUIRES(mutex_) {
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    not_full_.notify_one();
    return value;
  }

  void end(std::exception_ptr error, bool drop) {
    std::deque<T> dropped;  // destroyed after the lock is given back
    MutexLock lock(mutex_);
    if (!ended_) error_ = std::move(error);
    ended_ = true;
    if (drop) {
      dropped.swap(values_);
      error_ = nullptr;
    }
    not_full_.notify_all();
    not_empty_.notify_all();
  }

  const size_t capacity_;
  mutable Mutex mutex_;
  Condition not_full_;
  Condition not_empty_;
  std::deque<T> values_ FLT_GUARDED_BY(mutex_);
  bool ended_ FLT_GUARDED_BY(mutex_) = false;
  std::exception_ptr error_ FLT_GUARDED_BY(mutex_);
};

}  // namespace flotilla::data
