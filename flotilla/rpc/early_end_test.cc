#include "flotilla/rpc/early_end.h"

#include <gtest/gtest.h>

namespace flotilla::rpc {
namespace {

TEST(EarlyEnd, IsFoundInALineOfOutput) {
  const std::string said = early_end(0, ended_after(false, 10), "worker 1 was in step 11");
  EXPECT_EQ(said, "worker 0 ended after 10 steps while worker 1 was in step 11");
  EXPECT_EQ(find_early_end("RuntimeError: all_reduce of rank 1 was ended: " + said + ": do this"),
            said);
  EXPECT_EQ(ended_after(true, 1), "failed after 1 step");
}

TEST(EarlyEnd, OtherLinesHoldNone) {
  for (const char* line : {"", "ValueError: bad", "worker 0 ended after 10 steps",
                           "a while worker 1 slept", "x after 3 while worker 1 slept"}) {
    EXPECT_EQ(find_early_end(line), "") << line;
  }
}

TEST(EarlyEnd, KnowsWhoWasWaitedForAndLeftNoWord) {
  const std::string call = "RuntimeError: all_reduce of rank 1 was ended: ";
  EXPECT_EQ(find_lost_rank(call + "rank 0 of this host has closed its connection"), 0);
  EXPECT_EQ(find_lost_rank(call + "the connection to rank 12 on host b is lost: closed"), 12);
  for (const char* line : {"", "rank 0 of this host has closed its connection", "x was ended: ",
                           "x was ended: rank x", "x was ended: worker 0 failed"}) {
    EXPECT_EQ(find_lost_rank(line), std::nullopt) << line;
  }
}

}  // namespace
}  // namespace flotilla::rpc
