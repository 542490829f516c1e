// flotilla/base/mutex.h
//
// Locks whose use clang checks (-Wthread-safety, in the fuzz preset); g++ ignores the annotations.
// Thin wrappers of the standard ones, which tsan understands.
//
//   Mutex mutex_;
//   int64_t waiting_ FLT_GUARDED_BY(mutex_) = 0;

#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define FLT_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define FLT_THREAD_ANNOTATION(x)
#endif

#define FLT_GUARDED_BY(mutex) FLT_THREAD_ANNOTATION(guarded_by(mutex))
#define FLT_REQUIRES(mutex) FLT_THREAD_ANNOTATION(requires_capability(mutex))

namespace flotilla {

class FLT_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds a mutex from its construction to the end of its scope.
class FLT_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) FLT_THREAD_ANNOTATION(acquire_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~MutexLock() FLT_THREAD_ANNOTATION(release_capability()) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

// Waits give the lock back and take it again: call them in a loop that tests what is waited for.
class Condition {
 public:
  void wait(MutexLock& lock) { condition_.wait(lock.lock_); }
  // False: the time is over.
  bool wait_until(MutexLock& lock, std::chrono::steady_clock::time_point deadline) {
    return condition_.wait_until(lock.lock_, deadline) == std::cv_status::no_timeout;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace flotilla
