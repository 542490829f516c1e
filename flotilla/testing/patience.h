// flotilla/testing/patience.h
//
// How long tests go on, and how long they wait.

#pragma once

#include <chrono>
#include <thread>

#include "flotilla/base/env.h"

namespace flotilla {

// Whether tests of crashes and of long runs are to be as long as they can be.
inline bool in_full() { return env::flag_or("FLT_TEST_FULL", false); }

// Whether `condition` comes true within 10 s.
template <typename Condition>
bool soon(Condition condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

}  // namespace flotilla
