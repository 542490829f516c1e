// flotilla/runtime/gate.h
//
// Threads that run steps over the same variables, each with an executor and a scope of its own
// inside the one that holds them.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/runtime/executor.h"

namespace flotilla {

// Many run steps at the same time; one that moves variables is alone. For std::shared_lock and
// std::unique_lock.
//
// Thread safety: full. Who wants to be alone goes before those who come later.
class Gate {
 public:
  void lock_shared();
  void unlock_shared();
  void lock();
  void unlock();

 private:
  Mutex mutex_;
  Condition changed_;
  int64_t inside_ FLT_GUARDED_BY(mutex_) = 0;  // -1: one, alone
  int64_t waiting_ FLT_GUARDED_BY(mutex_) = 0;
};

// Runs the program beside other threads; alone where its plan has yet to move variables.
std::vector<FetchedValue> run_beside_others(Gate& gate, Executor& executor, const Program& program,
                                            const std::vector<Feed>& feeds,
                                            const std::vector<std::string>& fetches, Scope& scope);

}  // namespace flotilla
