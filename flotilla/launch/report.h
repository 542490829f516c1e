// flotilla/launch/report.h
//
// How a run that failed is explained: one block at the end, about the process that failed first.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/launch/spawn.h"

namespace flotilla::launch {

// What became of one process.
struct Outcome {
  std::string role = {};
  int64_t rank = 0;
  std::string host = {};
  int64_t pid = 0;
  int64_t attempt = 0;
  std::string log = {};  // path; empty: it wrote to the launcher's own output
  double seconds = 0;    // from its start to its end
  bool ended = false;
  Ending ending = {};
  std::string stuck = {};  // why it was ended: it "has not moved for 30 s ..."; empty: it was not
  std::vector<std::string> last_lines = {};

  std::string name() const;  // "worker 1"
  // Of the job where this process is why it ended.
  int job_code() const;
};

// What a process was doing that had ended well before the job failed.
inline constexpr std::string_view kHadEnded = "had ended, with exit code 0";

// Where a process stands.
struct Standing {
  std::string role = {};
  int64_t rank = 0;
  std::string host = {};
  std::optional<int64_t> step = {};  // nothing: it has not said
  std::string doing = {};            // and since when; empty: it has not joined the job
  bool stopped = false;              // by a signal

  std::string name() const;  // "worker 1"
};

// What several hosts know, as one list: servers first, in the order of ranks, without the one of
// this name. Empty where nobody has joined the job or is stopped: that tells nothing.
std::vector<Standing> together(const std::vector<std::vector<Standing>>& parts,
                               const std::string& without);

// The line of a Python traceback that says what was raised, or "".
std::string exception_in(const std::vector<std::string>& lines);

// One sentence for the others: "worker 1 (pid 4711 on 127.0.0.1) failed: exit code 3".
std::string sentence_of(const Outcome& culprit);

// The block. `others` says where the rest stood when it failed.
std::string failure_block(const Outcome& culprit, const std::vector<Standing>& others);

// A line for each process.
std::string standing_table(const std::vector<Standing>& standing);

// One line for --json. `culprit` may be null; `report` is JSON too.
std::string json_line(int exit_code, const Outcome* culprit, const std::vector<Outcome>& outcomes,
                      double seconds, const std::string& report);

// One line for --events_fd: "started" or "ended", and the process.
std::string event_line(std::string_view event, const Outcome& outcome);

// `text` as JSON writes it.
std::string in_quotes(std::string_view text);

}  // namespace flotilla::launch
