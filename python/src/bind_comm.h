// python/src/bind_comm.h
//
// Executors of a Python process.

#pragma once

#include <atomic>
#include <optional>

#include "flotilla/job/fleet.h"
#include "flotilla/runtime/executor.h"

namespace flotilla::python {

// FLAGS_check_nan_inf: whether the runs of this process look for values that are not finite.
std::atomic<bool>& check_numbers();

// An executor that runs programs with the other workers and with servers, also where it was made
// before the process had met them.
class WorkersExecutor {
 public:
  WorkersExecutor(Generator& generator, job::Fleet& fleet) : generator_(generator), fleet_(fleet) {}
  Executor& get();

 private:
  Generator& generator_;
  job::Fleet& fleet_;
  comm::World* world_ = nullptr;
  ps::Worker* servers_ = nullptr;
  std::optional<Executor> made_;
};

}  // namespace flotilla::python
