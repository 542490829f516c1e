// flotilla/job/local_tables.h
//
// The tables of a checkpoint within this process, for programs that only look rows up: what a model
// needs whose ids are no rows of a tensor.

#pragma once

#include <filesystem>
#include <memory>

#include "flotilla/ps/service.h"
#include "flotilla/ps/store.h"
#include "flotilla/ps/worker.h"

namespace flotilla::job {

class LocalTables {
 public:
  // Reads all of `checkpoint` into memory.
  explicit LocalTables(const std::filesystem::path& checkpoint);
  LocalTables(const LocalTables&) = delete;
  LocalTables& operator=(const LocalTables&) = delete;

  // For executors.
  ps::Worker& worker() { return worker_; }

 private:
  ps::Store store_;
  ps::Service service_;
  ps::Worker worker_;
};

}  // namespace flotilla::job
