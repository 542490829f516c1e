#include "flotilla/base/reminder.h"

#include <gtest/gtest.h>

#include <thread>

namespace flotilla {
namespace {

using namespace std::chrono_literals;

TEST(ReminderTest, IsDueOnceInEachInterval) {
  Reminder at_once({.first = 0ms, .every = 1h});
  EXPECT_TRUE(at_once.due());
  EXPECT_FALSE(at_once.due());
  Reminder often({.first = 0ms, .every = 1ms});
  EXPECT_TRUE(often.due());
  std::this_thread::sleep_for(2ms);
  EXPECT_TRUE(often.due());
  EXPECT_FALSE(Reminder().due()) << "people are not told of waits that are over in two seconds";
}

}  // namespace
}  // namespace flotilla
