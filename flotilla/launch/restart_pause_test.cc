// flotilla/launch/restart_pause_test.cc

#include "flotilla/launch/restart_pause.h"

#include <gtest/gtest.h>

namespace flotilla::launch {
namespace {

using std::chrono::milliseconds;

TEST(RestartPause, GrowsWhileAProcessFailsSoonUpToTenSeconds) {
  RestartPause pause;
  for (const int64_t expected : {250, 500, 1000, 2000, 4000, 8000, 10'000, 10'000}) {
    EXPECT_EQ(pause.next(milliseconds(999)), milliseconds(expected));
  }
}

TEST(RestartPause, IsNoneForAProcessThatHadRunForASecond) {
  RestartPause pause;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(pause.next(milliseconds(1000)), milliseconds(0));
}

TEST(RestartPause, BeginsAnewAfterAnAttemptThatLasted) {
  RestartPause pause;
  pause.next(milliseconds(10));
  pause.next(milliseconds(10));
  EXPECT_EQ(pause.next(milliseconds(1500)), milliseconds(0));
  EXPECT_EQ(pause.next(milliseconds(10)), milliseconds(250));
}

TEST(RestartPause, OfAThousandFailuresIsTenSeconds) {
  EXPECT_EQ(pause_after(1000), milliseconds(10'000));
}

}  // namespace
}  // namespace flotilla::launch
