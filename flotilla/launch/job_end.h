// flotilla/launch/job_end.h
//
// Why a job ends other than well, and what the launcher says and returns for it.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flotilla/launch/report.h"

namespace flotilla::launch {

struct JobEnd {
  std::optional<Outcome> culprit = {};  // who failed first
  std::string stalled = {};             // why the job was ended where nobody is to blame
  int interrupted = 0;                  // the signal that ended it; 0: none
  std::string lost = {};                // why the hosts came apart; empty: they did not
  // Where everyone stood when the job failed, as every host knew it.
  std::vector<std::vector<Standing>> stock = {};

  bool well() const { return !explained() && interrupted == 0; }
  // Something is known that people are told.
  bool explained() const { return culprit || !stalled.empty() || !lost.empty(); }
  // Of the launcher.
  int exit_code() const;
  // A block of lines about the first that holds, in the order above; "": an interrupt needs none.
  std::string explanation() const;
};

}  // namespace flotilla::launch
