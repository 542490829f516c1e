// flotilla/job/stop_signals.h
//
// Signals that ask a process to end, as a question that it asks itself now and then: what a server
// has to write is written before it goes.

#pragma once

#include <csignal>
#include <initializer_list>
#include <utility>
#include <vector>

namespace flotilla::job {

class StopSignals {
 public:
  // Takes the signals over that nobody has taken before, until it is destroyed. One at a time.
  explicit StopSignals(std::initializer_list<int> signals);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The first that came; 0: none.
  int seen() const;

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace flotilla::job
