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

}  // namespace
}  // namespace flotilla::rpc
