#include "flotilla/ps/shard_pool.h"

#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/thread.h"

namespace flotilla::ps {

void ShardPool::Job::run(int owner) {
  std::exception_ptr error;
  try {
    work_(owner);
  } catch (...) {
    error = std::current_exception();
  }
  const MutexLock lock(mutex_);
  if (error && !error_) error_ = error;
  if (--left_ == 0) done_.notify_all();
}

void ShardPool::Job::wait() {
  MutexLock lock(mutex_);
  while (left_ > 0) done_.wait(lock);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

ShardPool::ShardPool(int owners) : owners_(owners) {
  require(0 < owners && owners <= 256, "tables need 1 to 256 threads, but {} were given", owners);
  if (owners == 1) return;
  require_threads(owners, "own the shards of tables");
  for (int i = 0; i < owners; ++i) {
    Owner& owner = *threads_.emplace_back(std::make_unique<Owner>());
    owner.thread = std::thread([&owner, i] { serve(owner, i); });
  }
}

ShardPool::~ShardPool() {
  for (const auto& owner : threads_) {
    const MutexLock lock(owner->mutex);
    owner->jobs.push_back(nullptr);
    owner->ready.notify_one();
  }
  for (const auto& owner : threads_) owner->thread.join();
}

void ShardPool::serve(Owner& owner, int number) {
  for (;;) {
    Job* job = nullptr;
    {
      MutexLock lock(owner.mutex);
      while (owner.jobs.empty()) owner.ready.wait(lock);
      job = owner.jobs.front();
      owner.jobs.pop_front();
    }
    if (job == nullptr) return;
    job->run(number);
  }
}

void ShardPool::submit(Job& job) {
  {
    const MutexLock lock(job.mutex_);
    job.left_ = owners_;
  }
  const MutexLock order(order_);
  if (owners_ == 1) return job.run(0);
  for (const auto& owner : threads_) {
    const MutexLock lock(owner->mutex);
    owner->jobs.push_back(&job);
    owner->ready.notify_one();
  }
}

void ShardPool::run(std::function<void(int owner)> work) {
  Job job(std::move(work));
  submit(job);
  job.wait();
}

}  // namespace flotilla::ps
