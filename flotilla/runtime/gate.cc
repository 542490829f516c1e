#include "flotilla/runtime/gate.h"

#include <mutex>
#include <shared_mutex>

namespace flotilla {

void Gate::lock_shared() {
  MutexLock lock(mutex_);
  while (inside_ < 0 || waiting_ > 0) changed_.wait(lock);
  ++inside_;
}

void Gate::unlock_shared() {
  MutexLock lock(mutex_);
  if (--inside_ == 0) changed_.notify_all();
}

void Gate::lock() {
  MutexLock lock(mutex_);
  ++waiting_;
  while (inside_ != 0) changed_.wait(lock);
  --waiting_;
  inside_ = -1;
}

void Gate::unlock() {
  MutexLock lock(mutex_);
  inside_ = 0;
  changed_.notify_all();
}

std::vector<FetchedValue> run_beside_others(Gate& gate, Executor& executor, const Program& program,
                                            const std::vector<Feed>& feeds,
                                            const std::vector<std::string>& fetches, Scope& scope) {
  {
    const std::shared_lock beside(gate);
    Plan& plan = executor.plan(program, feeds, fetches, scope);
    if (plan.settled()) return executor.run(plan, feeds, scope);
  }
  const std::unique_lock alone(gate);
  return executor.run(executor.plan(program, feeds, fetches, scope), feeds, scope);
}

}  // namespace flotilla
