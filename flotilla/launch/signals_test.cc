// flotilla/launch/signals_test.cc

#include "flotilla/launch/signals.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <thread>

#include "flotilla/base/fd.h"

namespace flotilla::launch {
namespace {

TEST(Signals, ReachTheLauncherAlsoWhereAnotherThreadGetsThem) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Fd in(ends[0]);
  // Blocks no signal. It waits in read(), where tsan delivers signals; in a latch it would not.
  const std::jthread other([&] {
    char byte = 0;
    while (read(in.get(), &byte, 1) < 0) continue;
  });
  const Fd out(ends[1]);  // the first to go, and `other` with it
  // A shell that starts tests in the background has Ctrl-C ignored.
  for (const int signal : {SIGINT, SIGTERM}) ::signal(signal, SIG_DFL);
  const Signals signals;
  EXPECT_EQ(signals.next(), std::nullopt);
  for (const int signal : {SIGINT, SIGTERM}) {
    kill(getpid(), signal);
    pollfd ready = {signals.fd(), POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, 10'000), 1);
    EXPECT_EQ(signals.next(), signal);
  }
}

}  // namespace
}  // namespace flotilla::launch
