// python/src/bind_comm.h
//
// The other workers of this Python process' job.

#pragma once

#include <atomic>
#include <optional>

#include "flotilla/comm/world.h"
#include "flotilla/runtime/executor.h"

namespace flotilla::python {

// Null before the process has met them.
comm::World* world();

// FLAGS_check_nan_inf: whether the runs of this process look for values that are not finite.
std::atomic<bool>& check_numbers();

// An executor that runs programs with the other workers and with servers, also where it was made
// before the process had met them.
class WorkersExecutor {
 public:
  explicit WorkersExecutor(Generator& generator) : generator_(generator) {}
  Executor& get();

 private:
  Generator& generator_;
  comm::World* world_ = nullptr;
  ps::Worker* servers_ = nullptr;
  std::optional<Executor> made_;
};

}  // namespace flotilla::python
