#include "flotilla/device/cpu/parallel.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "flotilla/base/error.h"

namespace flotilla {
namespace {

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

class Parallel : public testing::Test {
 protected:
  ~Parallel() override { set_threads(before_); }

  Ranges ranges(int64_t n, int64_t grain) {
    std::mutex mutex;
    Ranges found;
    parallel_ranges(n, grain, [&](int64_t begin, int64_t end) {
      const std::lock_guard lock(mutex);
      found.emplace_back(begin, end);
    });
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  const int before_ = threads();
};

TEST_F(Parallel, CutsEvenlyAndAlwaysTheSame) {
  set_threads(3);
  EXPECT_EQ(ranges(10, 1), (Ranges{{0, 4}, {4, 7}, {7, 10}}));
  EXPECT_EQ(ranges(10, 1), ranges(10, 1));
}

TEST_F(Parallel, KeepsRangesAboveTheGrain) {
  set_threads(8);
  EXPECT_EQ(ranges(10, 5), (Ranges{{0, 5}, {5, 10}}));
  EXPECT_EQ(ranges(9, 5), (Ranges{{0, 9}}));
  EXPECT_EQ(ranges(0, 5), Ranges{});
}

TEST_F(Parallel, ShortLoopsRunInTheCallingThread) {
  set_threads(2);
  const std::thread::id here = std::this_thread::get_id();
  parallel_for(4, [&](int64_t) { EXPECT_EQ(std::this_thread::get_id(), here); });
}

TEST_F(Parallel, VisitsEachIndexOnce) {
  for (const int count : {1, 2, 5}) {
    set_threads(count);
    std::vector<int> visits(1000, 0);
    parallel_for(1000, [&](int64_t i) { ++visits[static_cast<size_t>(i)]; });
    EXPECT_THAT(visits, testing::Each(1));
  }
}

TEST_F(Parallel, AnInnerLoopRunsInline) {
  set_threads(2);
  parallel_ranges(2, 1, [&](int64_t, int64_t) {
    const std::thread::id here = std::this_thread::get_id();
    int calls = 0;
    parallel_ranges(100, 1, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(std::this_thread::get_id(), here);
      EXPECT_EQ(end - begin, 100);
      ++calls;
    });
    EXPECT_EQ(calls, 1);
  });
}

TEST_F(Parallel, AnExceptionReachesTheCallerOnceAllHaveEnded) {
  set_threads(2);
  std::vector<int> ended(2, 0);
  const auto fail = [&] {
    parallel_ranges(2, 1, [&](int64_t begin, int64_t) {
      ended[static_cast<size_t>(begin)] = 1;
      throw std::runtime_error(begin == 0 ? "first" : "second");
    });
  };
  EXPECT_THAT(fail, testing::ThrowsMessage<std::runtime_error>("first"));
  EXPECT_THAT(ended, testing::Each(1));
  EXPECT_EQ(ranges(2, 1).size(), 2u);  // and the next loop is shared out again
}

TEST_F(Parallel, RefusesANumberOfThreadsThatIsNone) { EXPECT_THROW(set_threads(0), Error); }

TEST_F(Parallel, AShareHoldsForItsThreadWhileItLives) {
  set_threads(4);
  {
    const ThreadShare half(2);
    EXPECT_EQ(ranges(100, 1).size(), 2u);
    {
      const ThreadShare one(1);
      EXPECT_EQ(threads(), 1);
      std::jthread([] { EXPECT_EQ(threads(), 4); });
    }
    EXPECT_EQ(threads(), 2);
  }
  EXPECT_EQ(threads(), 4);
  EXPECT_THROW(ThreadShare(0), Error);
}

TEST_F(Parallel, WorksFromSeveralThreadsAtOnce) {
  set_threads(2);
  std::vector<std::jthread> callers;
  for (int t = 0; t < 3; ++t) {
    callers.emplace_back([] {
      std::vector<int> visits(100000, 0);
      for (int i = 0; i < 10; ++i) {
        parallel_for(100000, [&](int64_t at) { ++visits[static_cast<size_t>(at)]; });
      }
      EXPECT_THAT(visits, testing::Each(10));
    });
  }
}

// A child that hangs is ended by its alarm, and its status says so.
TEST_F(Parallel, LoopsOfAForkedProcessRunInline) {
  set_threads(2);
  ranges(10, 1);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(ranges(10, 1) == Ranges{{0, 10}} ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ranges(10, 1), (Ranges{{0, 5}, {5, 10}}));
}

}  // namespace
}  // namespace flotilla
