#include "flotilla/launch/restarts.h"

#include <gmock/gmock.h>

namespace flotilla::launch {
namespace {

using testing::EndsWith;
using testing::Optional;

constexpr Ending kExited = {.exit_code = 3};
constexpr Ending kKilled = {.signal = 9};

TEST(RestartsTest, WorkersAreNotStartedAgainUnlessSomebodySaysSo) {
  Restarts none(JobOptions{});
  EXPECT_EQ(none.allow({.role = "worker", .ending = kKilled}), std::nullopt);
  EXPECT_EQ(none.count(), 0);
  Restarts one(JobOptions{.max_restart = 1});
  EXPECT_THAT(one.allow({.role = "worker", .ending = kExited}),
              Optional(EndsWith("restart 1 of 1")));
  EXPECT_EQ(one.allow({.role = "worker", .ending = kExited}), std::nullopt);
  EXPECT_EQ(one.count(), 1);
}

TEST(RestartsTest, ServersThatWereKilledAre) {
  Restarts restarts(JobOptions{});
  for (int64_t i = 1; i <= kServerRestarts; ++i) {
    EXPECT_TRUE(restarts.allow({.role = "server", .ending = kKilled}).has_value());
  }
  EXPECT_EQ(restarts.allow({.role = "server", .ending = kKilled}), std::nullopt);
}

TEST(RestartsTest, ServersThatEndedByThemselvesOrWereStuckAreNot) {
  Restarts restarts(JobOptions{});
  EXPECT_EQ(restarts.allow({.role = "server", .ending = kExited}), std::nullopt);
  EXPECT_EQ(restarts.allow({.role = "server", .ending = kKilled, .stuck = "has made no progress"}),
            std::nullopt);
  Restarts off(JobOptions{.max_restart = 0});
  EXPECT_EQ(off.allow({.role = "server", .ending = kKilled}), std::nullopt);
}

}  // namespace
}  // namespace flotilla::launch
