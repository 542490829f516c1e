// flotilla/testing/patience_test.cc

#include "flotilla/testing/patience.h"

#include <gtest/gtest.h>

namespace flotilla {
namespace {

using namespace std::chrono_literals;

TEST(Patience, WaitsForWhatComes) {
  std::promise<int> promise;
  std::future<int> result = promise.get_future();
  EXPECT_FALSE(result.wait_for(0s) == std::future_status::ready);
  const std::jthread gives([&] {
    std::this_thread::sleep_for(20ms);
    promise.set_value(1);
  });
  EXPECT_TRUE(ready_soon(result));
}

// By the clock it may be any time later.
TEST(Patience, AStopwatchIsNotAheadOfTheClock) {
  const auto began = std::chrono::steady_clock::now();
  const Stopwatch watch;
  EXPECT_TRUE(soon([&] { return watch.time() >= 50ms; }));
  EXPECT_GE(std::chrono::steady_clock::now() - began, 50ms);
}

}  // namespace
}  // namespace flotilla
