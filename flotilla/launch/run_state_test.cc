// flotilla/launch/run_state_test.cc

#include "flotilla/launch/run_state.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <latch>
#include <thread>

namespace flotilla::launch {
namespace {

TEST(Signals, ReachTheLauncherAlsoWhereAnotherThreadGetsThem) {
  std::latch started(1), done(1);
  const std::jthread other([&] {  // blocks no signal
    started.count_down();
    done.wait();
  });
  started.wait();
  {
    const Signals signals;
    EXPECT_EQ(signals.next(), std::nullopt);
    for (const int signal : {SIGINT, SIGTERM}) {
      kill(getpid(), signal);
      pollfd ready = {signals.fd(), POLLIN, 0};
      ASSERT_EQ(poll(&ready, 1, 10'000), 1);
      EXPECT_EQ(signals.next(), signal);
    }
  }
  done.count_down();
}

}  // namespace
}  // namespace flotilla::launch
