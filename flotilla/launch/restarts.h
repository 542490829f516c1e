// flotilla/launch/restarts.h
//
// How often what failed is started again (--max_restart).

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "flotilla/launch/options.h"
#include "flotilla/launch/report.h"

namespace flotilla::launch {

// How often servers that are killed are started again where --max_restart says nothing.
inline constexpr int64_t kServerRestarts = 3;

class Restarts {
 public:
  explicit Restarts(const JobOptions& options) : limit_(options.max_restart) {}

  // The sentence with which what failed is started again, which counts; nothing: it is not. In a
  // job with servers that is the process alone; the ranks of a collective job cannot go on without
  // each other.
  std::optional<std::string> allow(const Outcome& failed);
  int64_t count() const { return count_; }

 private:
  const std::optional<int64_t> limit_;
  int64_t count_ = 0;
};

}  // namespace flotilla::launch
