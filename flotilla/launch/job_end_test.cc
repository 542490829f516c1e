#include "flotilla/launch/job_end.h"

#include <gmock/gmock.h>

namespace flotilla::launch {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(JobEndTest, ThatIsWellSaysNothing) {
  const JobEnd end;
  EXPECT_TRUE(end.well());
  EXPECT_EQ(end.exit_code(), 0);
  EXPECT_EQ(end.explanation(), "");
}

TEST(JobEndTest, AnInterruptNeedsNoWords) {
  const JobEnd end = {.interrupted = 2, .lost = "the launcher on host b is gone"};
  EXPECT_FALSE(end.well());
  EXPECT_EQ(end.exit_code(), 130);
  EXPECT_EQ(end.explanation(), "");
}

TEST(JobEndTest, WhoFailedFirstComesBeforeAllElse) {
  JobEnd end = {.stalled = "no progress for 5 s", .interrupted = 15, .lost = "gone"};
  EXPECT_EQ(end.exit_code(), Outcome{.stuck = "x"}.job_code());
  EXPECT_THAT(end.explanation(), StartsWith("fleetrun: no progress for 5 s\n"));
  end.culprit = {.role = "worker", .rank = 1, .ended = true, .ending = {.exit_code = 3}};
  EXPECT_EQ(end.exit_code(), 3);
  EXPECT_THAT(end.explanation(), HasSubstr("worker 1"));
}

TEST(JobEndTest, HostsThatCameApartAreShownWithWhereEveryoneStood) {
  const JobEnd end = {.lost = "the launcher on host b is gone",
                      .stock = {{{.role = "worker", .rank = 0, .step = 7, .doing = "all_reduce"}}}};
  EXPECT_TRUE(end.explained());
  EXPECT_EQ(end.exit_code(), 1);
  EXPECT_THAT(end.explanation(), StartsWith("fleetrun: the launcher on host b is gone\n"));
  EXPECT_THAT(end.explanation(), HasSubstr("all_reduce"));
}

}  // namespace
}  // namespace flotilla::launch
