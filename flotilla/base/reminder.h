// flotilla/base/reminder.h
//
// Says when it is time to tell people, again, what is waited for.

#pragma once

#include <chrono>

namespace flotilla {

struct ReminderTimes {
  std::chrono::milliseconds first = std::chrono::seconds(2);
  std::chrono::milliseconds every = std::chrono::seconds(15);
};

class Reminder {
 public:
  using Clock = std::chrono::steady_clock;
  using Times = ReminderTimes;

  explicit Reminder(Times times = Times()) : times_(times), next_(Clock::now() + times.first) {}

  // True once when the first time is over, and then once in each interval.
  bool due() {
    const Clock::time_point now = Clock::now();
    if (now < next_) return false;
    next_ = now + times_.every;
    return true;
  }
  // When it will be due.
  Clock::time_point next() const { return next_; }

 private:
  Times times_;
  Clock::time_point next_;
};

}  // namespace flotilla
