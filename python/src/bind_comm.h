// python/src/bind_comm.h
//
// Executors of a Python process.

#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "flotilla/device/gpu.h"
#include "flotilla/job/fleet.h"
#include "flotilla/runtime/executor.h"

namespace flotilla::python {

// FLAGS_check_nan_inf: whether the runs of this process look for values that are not finite.
std::atomic<bool>& check_numbers();

// An executor that runs programs with the other workers and with servers, also where it was made
// before the process had met them.
class WorkersExecutor {
 public:
  // `gpu`: what runs programs, beside the CPU; none: the CPU alone.
  WorkersExecutor(Generator& generator, job::Fleet& fleet, std::optional<int> gpu = {});
  Executor& get();

 private:
  Generator& generator_;
  const std::shared_ptr<Gpu> gpu_;
  job::Fleet& fleet_;
  comm::World* world_ = nullptr;
  ps::Worker* servers_ = nullptr;
  std::optional<Executor> made_;
};

}  // namespace flotilla::python
