// flotilla/launch/stall_watch.h
//
// What does not move: found, from what the processes report and from what the system says of those
// of this host. Whether it is warned of (--stall_warning) or ended (--stall_timeout), and where
// everyone stands meanwhile.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flotilla/launch/members.h"
#include "flotilla/launch/options.h"
#include "flotilla/launch/processes.h"
#include "flotilla/launch/report.h"

namespace flotilla::launch {

struct Stuck {
  Outcome culprit = {};  // with no role where all wait for each other
  std::string sentence = {};
};

// What people are told, with where everyone stands as each host knows it.
std::string stall_warning(const std::string& sentence,
                          const std::vector<std::vector<Standing>>& parts);

class StallWatch {
 public:
  // REQUIRES: members and processes live as long as this
  StallWatch(const JobOptions& options, const Members& members, Processes& processes);

  // After how many seconds without a move something is done; 0: never.
  double limit() const;
  // Whether it is time to look; it is then noted that somebody has.
  bool due();
  // Who has not moved for so long that the job, or it, is ended.
  std::optional<Stuck> find_to_end();
  // Who has not for so long that people are told, and when they were last it is as long ago.
  std::optional<Stuck> find_to_warn_of();
  // People are told now.
  void set_warned() { warned_ = Clock::now(); }

  // Where everyone stands, as far as this host knows.
  std::vector<Standing> standing() const;

 private:
  std::optional<Stuck> find(double limit);

  const double end_;
  const double warning_;
  const Members& members_;
  Processes& processes_;
  Clock::time_point looked_ = {};
  Clock::time_point warned_ = {};
};

}  // namespace flotilla::launch
