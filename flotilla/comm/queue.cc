#include "flotilla/comm/queue.h"

#include <utility>

#include "flotilla/base/thread.h"
#include "flotilla/device/cpu/parallel.h"

namespace flotilla::comm {

WithoutSignals::WithoutSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

WithoutSignals::~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

Queue::~Queue() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Queue::start(std::function<void()> work) {
  if (!thread_.joinable()) {
    const WithoutSignals guard;
    thread_ = start_thread<std::thread>("sums gradients", [this] { serve(); });
  }
  ++started_;
  {
    const MutexLock lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void Queue::finish() {
  MutexLock lock(mutex_);
  while (done_ < started_) changed_.wait(lock);
  started_ = done_ = 0;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Queue::serve() {
  const ThreadShare one(1);  // the others compute meanwhile
  while (const std::optional<std::function<void()>> work = next()) {
    std::exception_ptr error;
    try {
      (*work)();
    } catch (...) {
      error = std::current_exception();
    }
    const MutexLock lock(mutex_);
    // What comes after a failure would wait for ranks that have given up.
    if (error) {
      error_ = error;
      done_ += static_cast<int64_t>(waiting_.size());
      waiting_.clear();
    }
    ++done_;
    changed_.notify_all();
  }
}

std::optional<std::function<void()>> Queue::next() {
  MutexLock lock(mutex_);
  while (waiting_.empty() && !ends_) changed_.wait(lock);
  if (waiting_.empty()) return std::nullopt;
  std::function<void()> work = std::move(waiting_.front());
  waiting_.pop_front();
  return work;
}

}  // namespace flotilla::comm
