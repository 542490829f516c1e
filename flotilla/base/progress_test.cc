#include "flotilla/base/progress.h"

#include <gmock/gmock.h>

#include <thread>

namespace flotilla {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Ge;
using testing::Le;
using Kind = Progress::Kind;
using Span = Progress::Span;

std::chrono::nanoseconds spent(const Progress& progress, Kind kind) {
  return progress.now().spent[static_cast<size_t>(kind)];
}

TEST(ProgressTest, CountsStepsAndRemembersTheFirst) {
  Progress progress;
  EXPECT_EQ(progress.now().steps, 0);
  const auto& marks = progress.now().marks;
  EXPECT_EQ(marks[static_cast<size_t>(Progress::Mark::kFirstStep)], Progress::Clock::time_point());
  const auto before = Progress::Clock::now();
  progress.step_done();
  const auto first = progress.now().marks[static_cast<size_t>(Progress::Mark::kFirstStep)];
  EXPECT_THAT(first, AllOf(Ge(before), Le(Progress::Clock::now())));
  progress.step_done();
  EXPECT_EQ(progress.now().steps, 2);
  EXPECT_EQ(progress.now().marks[static_cast<size_t>(Progress::Mark::kFirstStep)], first);
}

TEST(ProgressTest, ShowsTheInnermostSpanAndGoesBackToTheOuter) {
  Progress progress;
  EXPECT_STREQ(progress.now().doing, "");
  {
    const Span step(&progress, Kind::kCompute, "computes");
    EXPECT_STREQ(progress.now().doing, "computes");
    EXPECT_EQ(progress.now().detail, -1);
    {
      const Span sum(&progress, Kind::kCommunication, "sums bucket", 7);
      EXPECT_STREQ(progress.now().doing, "sums bucket");
      EXPECT_EQ(progress.now().detail, 7);
      EXPECT_EQ(progress.now().kind, Kind::kCommunication);
    }
    EXPECT_STREQ(progress.now().doing, "computes");
  }
  EXPECT_STREQ(progress.now().doing, "");
}

TEST(ProgressTest, TimeOfAnInnerSpanIsNotThatOfTheOuter) {
  Progress progress;
  const auto begin = Progress::Clock::now();
  std::chrono::nanoseconds inner = {};
  {
    const Span step(&progress, Kind::kCompute, "computes");
    std::this_thread::sleep_for(5ms);
    {
      const auto inner_begin = Progress::Clock::now();
      const Span sum(&progress, Kind::kCommunication, "sums bucket", 0);
      std::this_thread::sleep_for(20ms);
      EXPECT_GE(spent(progress, Kind::kCommunication), 20ms) << "the open span counts";
      inner = Progress::Clock::now() - inner_begin;
    }
    std::this_thread::sleep_for(5ms);
  }
  const std::chrono::nanoseconds all = Progress::Clock::now() - begin;
  EXPECT_GE(spent(progress, Kind::kCompute), 10ms);
  EXPECT_GE(spent(progress, Kind::kCommunication), 20ms);
  EXPECT_LE(spent(progress, Kind::kCompute), all - 20ms);
  EXPECT_LE(spent(progress, Kind::kCompute) + spent(progress, Kind::kCommunication), all);
  EXPECT_EQ(spent(progress, Kind::kInput), 0ns);
}

TEST(ProgressTest, NothingIsToldWithoutAProgress) {
  const Span none(nullptr, Kind::kCompute, "computes");
  Progress progress;
  const Span span(&progress, Kind::kInput, "reads");
  EXPECT_STREQ(progress.now().doing, "reads");
}

// The words and the number of a reader belong together while a writer changes them, unless the
// writer is held up in the middle of a change.
TEST(ProgressTest, AReaderSeesWholeChanges) {
  Progress progress;
  const std::jthread writer([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const Span one(&progress, Kind::kInput, "one", 1);
      const Span two(&progress, Kind::kBarrier, "two", 2);
      progress.step_done();
    }
  });
  const auto whole = [&] {
    const Progress::Now now = progress.now();
    return now.detail == (now.doing[0] == 'o' ? 1 : now.doing[0] == 't' ? 2 : -1);
  };
  int held_up = 0;
  for (int i = 0; i < 200000; ++i) {
    if (whole()) continue;
    ++held_up;
    for (int ms = 0; ms < 1000 && !whole(); ++ms) std::this_thread::sleep_for(1ms);
  }
  EXPECT_LT(held_up, 200);
}

}  // namespace
}  // namespace flotilla
