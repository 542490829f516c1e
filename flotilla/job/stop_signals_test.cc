#include "flotilla/job/stop_signals.h"

#include <gtest/gtest.h>

namespace flotilla::job {
namespace {

TEST(StopSignals, ASignalIsNotedAndTheOldWaysComeBack) {
  {
    const StopSignals signals({SIGTERM, SIGUSR1});
    EXPECT_EQ(signals.seen(), 0);
    raise(SIGTERM);
    raise(SIGUSR1);
    EXPECT_EQ(signals.seen(), SIGTERM);
  }
  struct sigaction now = {};
  sigaction(SIGTERM, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
  const StopSignals again({SIGTERM});
  EXPECT_EQ(again.seen(), 0);
}

TEST(StopSignals, WhatSomebodyElseHandlesIsLeftAlone) {
  signal(SIGTERM, SIG_IGN);
  const StopSignals signals({SIGTERM});
  raise(SIGTERM);
  EXPECT_EQ(signals.seen(), 0);
  signal(SIGTERM, SIG_DFL);
}

}  // namespace
}  // namespace flotilla::job
