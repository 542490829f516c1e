// flotilla/launch/restart_pause.h
//
// How long after its start what failed may be started again.

#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace flotilla::launch {

// Longer each time: what fails at once would only fail faster.
inline std::chrono::milliseconds pause_after(int64_t failures) {
  if (failures == 0) return std::chrono::milliseconds(0);
  const double seconds = 0.25 * std::pow(2.0, static_cast<double>(failures - 1));
  return std::chrono::milliseconds(static_cast<int64_t>(std::min(10.0, seconds) * 1000));
}

// Of one process, for which others wait: there is a pause only if it fails soon again and again.
class RestartPause {
 public:
  // After an attempt that lasted so long. Counts from that attempt's start.
  std::chrono::milliseconds next(std::chrono::duration<double> lasted) {
    failed_soon_ = lasted < kSteady ? failed_soon_ + 1 : 0;
    return pause_after(failed_soon_);
  }

 private:
  // Who has run so long could start; another start may come at once.
  static constexpr std::chrono::milliseconds kSteady{1000};

  int64_t failed_soon_ = 0;  // in a row
};

}  // namespace flotilla::launch
