// flotilla/rpc/outage.h
//
// How long the other end of a connection may be silent. A cut cable, a paused machine and a process
// that is stopped look alike from outside, and may be over in a moment: silence alone ends nothing
// before the limit. A death is known at once, since the kernel closes the connections of the dead.

#pragma once

#include <algorithm>
#include <chrono>

namespace flotilla::rpc {

struct Outage {
  using milliseconds = std::chrono::milliseconds;

  static constexpr double kDefault = 30;  // seconds
  static constexpr double kLeast = 0.5;
  static constexpr double kMost = 600;

  milliseconds limit{30000};

  // How long a client may take to come back whose connection was closed, as a firewall may close
  // it: one that is alive notices within a beat. And how long a firewall may refuse it.
  milliseconds come_back{1500};

  // How often each end says that it is there.
  milliseconds beat() const {
    return std::clamp<milliseconds>(limit / 12, milliseconds(50), milliseconds(500));
  }
  // After so much silence a client tries another connection: TCP itself would wait longer and
  // longer between its attempts.
  milliseconds retry() const {
    return std::clamp<milliseconds>(limit / 4, 3 * beat(), milliseconds(5000));
  }

  // FLT_OUTAGE_LIMIT, in seconds. Refuses one that is not from kLeast to kMost.
  static Outage from_environment();
};

}  // namespace flotilla::rpc
