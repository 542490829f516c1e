// flotilla/comm/queue.h
//
// The communication thread of a process: what is started here runs in order, beside the thread that
// started it. Every collective call of a process goes through one queue, so that all ranks make
// them in the same order whether they wait for them or not.
//
// Thread safety: one thread uses it.

#pragma once

#include <signal.h>

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <thread>

#include "flotilla/base/mutex.h"

namespace flotilla::comm {

// While it lives, threads that this one starts get no signals: those are for the program.
class WithoutSignals {
 public:
  WithoutSignals();
  ~WithoutSignals();
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

class Queue {
 public:
  Queue() = default;
  // Waits for what was started.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Runs `work` soon, after all that was started before. The thread begins with the first call.
  void start(std::function<void()> work);
  // Waits until all that was started is done; throws what the first of it threw that failed.
  void finish();
  // Runs `work` here and now, after all that was started before.
  template <typename F>
  void run(F&& work) {
    if (started_ > 0) finish();
    work();
  }

 private:
  void serve();
  // Waits for it; none: the queue ends.
  std::optional<std::function<void()>> next();

  Mutex mutex_;
  Condition changed_;
  std::deque<std::function<void()>> waiting_ FLT_GUARDED_BY(mutex_);
  int64_t done_ FLT_GUARDED_BY(mutex_) = 0;
  bool ends_ FLT_GUARDED_BY(mutex_) = false;
  std::exception_ptr error_ FLT_GUARDED_BY(mutex_);
  int64_t started_ = 0;  // since the last finish()
  std::thread thread_;
};

}  // namespace flotilla::comm
