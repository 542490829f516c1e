#include "flotilla/launch/stall_watch.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

namespace flotilla::launch {
namespace {

using testing::HasSubstr;
using Happening = rpc::StoreServer::Happening;

// A job without processes of its own: what there is, its store is told.
class StallWatchTest : public testing::Test {
 protected:
  StallWatch watch(double end, double warning) {
    JobOptions options;
    options.stall_timeout = end;
    options.stall_warning = warning;
    return StallWatch(options, members_, processes_);
  }
  void report(int64_t rank, const std::string& doing, bool for_others,
              const std::string& host = "here") {
    members_.note(Happening::kProgress,
                  {.role = "worker",
                   .rank = rank,
                   .host = host,
                   .last = {.step = 7, .doing = doing, .for_others = for_others},
                   .reported = Clock::now()});
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }

  const JobOptions options_ = {.quiet = true};
  const Job job_;
  Guardian guardian_;
  Voice voice_{options_};
  Members members_;
  Processes processes_{options_, job_, guardian_, voice_};
};

TEST_F(StallWatchTest, TheShorterLimitCountsAndNoneIsNever) {
  EXPECT_EQ(watch(30, 10).limit(), 10);
  EXPECT_EQ(watch(30, 0).limit(), 30);
  EXPECT_EQ(watch(0, 10).limit(), 10);
  EXPECT_FALSE(watch(0, 0).due());
  StallWatch late = watch(1000, 0);
  EXPECT_TRUE(late.due());
  EXPECT_FALSE(late.due()) << "somebody has just looked";
}

TEST_F(StallWatchTest, NamesWhoeverKeepsOthersWaiting) {
  report(0, "all_reduce", true);
  report(1, "input", false);
  const std::optional<Stuck> found = watch(0.001, 0).find_to_end();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->culprit.name(), "worker 1");
  EXPECT_THAT(found->sentence, HasSubstr("has made no progress for 0 s (step 7, input)"));
  EXPECT_FALSE(watch(1000, 0).find_to_end().has_value());
  EXPECT_FALSE(watch(0, 0.001).find_to_end().has_value()) << "it is only warned of";
}

TEST_F(StallWatchTest, NobodyIsToBlameWhereAllWaitForEachOther) {
  report(0, "all_reduce", true);
  report(1, "all_reduce", true);
  const std::optional<Stuck> found = watch(0.001, 0).find_to_end();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->culprit.role, "");
  EXPECT_THAT(found->sentence, HasSubstr("all workers wait for each other"));
}

TEST_F(StallWatchTest, OtherHostsMayFirstNameAProcessThatIsStopped) {
  const double limit = 0.1;
  report(0, "all_reduce", true);
  const Clock::time_point last = Clock::now();
  report(1, "all_reduce", true, "there");
  StallWatch both = watch(limit, 0);
  std::optional<Stuck> found;
  while (!(found = both.find_to_end())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(seconds_since(last), 1.5 * limit + 1);
  EXPECT_THAT(found->sentence, HasSubstr("no progress for 0 s: all workers wait"));
}

TEST_F(StallWatchTest, WarnsOnceInAWhile) {
  report(0, "input", false);
  EXPECT_TRUE(watch(0, 0.001).find_to_warn_of().has_value());
  StallWatch later = watch(0, 60);
  later.set_warned();
  EXPECT_FALSE(later.find_to_warn_of().has_value());
  const std::string text = stall_warning("worker 0 waits", {later.standing()});
  EXPECT_THAT(text, HasSubstr("worker 0 waits; the state of all processes:"));
  EXPECT_THAT(text, HasSubstr("input"));
}

}  // namespace
}  // namespace flotilla::launch
