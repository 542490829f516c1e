// flotilla/ps/shard_pool.h
//
// The threads that own shards. What an owner holds is touched by its thread alone, so tables need
// no locks: a request is cut by owner, and each owner does its part when its turn comes.

#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "flotilla/base/mutex.h"

namespace flotilla::ps {

// Work for every owner, in the order in which it was submitted. With one owner there is no thread:
// submit() does the work itself, one caller at a time.
class ShardPool {
 public:
  // Lives until wait() has returned.
  class Job {
   public:
    explicit Job(std::function<void(int owner)> work) : work_(std::move(work)) {}
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    // Returns when all owners are done; throws what one of them has thrown.
    void wait();

   private:
    friend class ShardPool;
    void run(int owner);

    const std::function<void(int owner)> work_;
    Mutex mutex_;
    Condition done_;
    int left_ FLT_GUARDED_BY(mutex_) = 0;
    std::exception_ptr error_ FLT_GUARDED_BY(mutex_);
  };

  explicit ShardPool(int owners);
  ~ShardPool();
  ShardPool(const ShardPool&) = delete;
  ShardPool& operator=(const ShardPool&) = delete;

  int owners() const { return owners_; }

  // Thread-safe. Jobs of one caller reach every owner in the order of its calls.
  void submit(Job& job);
  // Submits and waits.
  void run(std::function<void(int owner)> work);

 private:
  struct Owner {
    Mutex mutex;
    Condition ready;
    std::deque<Job*> jobs FLT_GUARDED_BY(mutex);  // null: the end
    std::thread thread;
  };

  static void serve(Owner& owner, int number);

  const int owners_;
  Mutex order_;                                  // of submit(): all owners see the same order
  std::vector<std::unique_ptr<Owner>> threads_;  // none for a single owner
};

}  // namespace flotilla::ps
