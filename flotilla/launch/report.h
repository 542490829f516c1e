// flotilla/launch/report.h
//
// How a run that failed is explained: one block at the end, about the process that failed first.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/launch/spawn.h"
#include "flotilla/rpc/store_table.h"

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
  std::vector<std::string> last_lines = {};

  std::string name() const;  // "worker 1"
};

// The line of a Python traceback that says what was raised, or "".
std::string exception_in(const std::vector<std::string>& lines);

// One sentence for the others: "worker 1 (pid 4711 on 127.0.0.1) failed: exit code 3".
std::string sentence_of(const Outcome& culprit);

// The block. `members` is what the store knows of the others.
std::string failure_block(const Outcome& culprit, const std::vector<rpc::Member>& members);

// Where each process stands, for a job that does not move.
std::string standing_table(const std::vector<rpc::Member>& members);

// One line for --json. `culprit` may be null.
std::string json_line(int exit_code, const Outcome* culprit, const std::vector<Outcome>& outcomes,
                      double seconds);

}  // namespace flotilla::launch
