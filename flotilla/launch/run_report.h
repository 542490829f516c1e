// flotilla/launch/run_report.h
//
// Where the time of a run went, from what its processes reported: the way to the first step, what
// each worker spent on what afterwards, and one sentence on what to do about it.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/launch/members.h"

namespace flotilla::launch {

struct RunReport {
  // As processes name them; what is left is time outside of runs, in the script's own code.
  static constexpr std::array<const char*, 4> kKinds = {"compute", "input", "communication",
                                                        "barrier"};

  struct Rank {
    std::string name = {};  // "worker 1"
    int64_t steps = 0;
    double seconds = 0;                                // from its first step to its end
    std::array<double, kKinds.size() + 1> share = {};  // of them, the last for what is left
  };
  // A stretch of the way to the first step of the slowest worker.
  struct Part {
    std::string name = {};
    double seconds = 0;
  };

  std::vector<Rank> ranks = {};  // empty: nobody has reported a step
  std::string slowest = {};
  std::vector<Part> start = {};
  std::string verdict = {};
  // Said where workers have trained models of their own; "": they have not.
  std::string warning = {};
};

// `launcher` is how long the launcher took until the processes were started.
RunReport make_report(const std::vector<Members::Seen>& seen, double launcher);

// Several lines; "" where there is nothing to report.
std::string text_of(const RunReport& report);
// An object, or null.
std::string json_of(const RunReport& report);

}  // namespace flotilla::launch
