// flotilla/testing/patience.h
//
// How long tests go on, and how long they wait. On a busy machine everything takes longer, so
// limits count turns that a thread of the test got, not seconds: where it gets few, so does what it
// waits for.

#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "flotilla/base/env.h"

namespace flotilla {

// Whether tests of crashes and of long runs are to be as long as they can be.
inline bool in_full() { return env::flag_or("FLT_TEST_FULL", false); }

inline constexpr std::chrono::milliseconds kTurn{5};

// Whether `condition` comes true before this thread has slept for a minute, turn by turn.
template <typename Condition>
bool soon(Condition condition) {
  constexpr int kTurns = std::chrono::minutes(1) / kTurn;
  for (int i = 0; i < kTurns && !condition(); ++i) std::this_thread::sleep_for(kTurn);
  return condition();
}

template <typename T>
bool ready_soon(const std::future<T>& result) {
  return soon(
      [&] { return result.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
}

// How long something took, in the turns of a thread beside it: about as long as by the clock where
// the machine is idle, and shorter where it is busy.
class Stopwatch {
 public:
  Stopwatch()
      : thread_([this](const std::stop_token& stop) {
          for (; !stop.stop_requested(); ++turns_) std::this_thread::sleep_for(kTurn);
        }) {}

  std::chrono::milliseconds time() const { return turns_.load() * kTurn; }

 private:
  std::atomic<int> turns_ = 0;
  std::jthread thread_;
};

}  // namespace flotilla
