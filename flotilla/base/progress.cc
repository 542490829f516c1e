#include "flotilla/base/progress.h"

namespace flotilla {
namespace {

using std::chrono::nanoseconds;

// The innermost span of this thread.
thread_local Progress::Span* innermost = nullptr;

int64_t clock_now() { return nanoseconds(Progress::Clock::now().time_since_epoch()).count(); }

Progress::Clock::time_point time_of(int64_t clock) {
  return Progress::Clock::time_point(nanoseconds(clock));
}

}  // namespace

const char* name_of(Progress::Kind kind) {
  switch (kind) {
    case Progress::Kind::kCompute:
      return "compute";
    case Progress::Kind::kInput:
      return "input";
    case Progress::Kind::kCommunication:
      return "communication";
    case Progress::Kind::kBarrier:
      return "barrier";
  }
  return "";
}

void Progress::step_done() {
  if (steps_.fetch_add(1, std::memory_order_relaxed) == 0) reach(Mark::kFirstStep);
}

void Progress::reach(Mark mark) {
  int64_t not_yet = 0;
  marks_[static_cast<size_t>(mark)].compare_exchange_strong(not_yet, clock_now());
}

void Progress::add(Kind kind, int64_t amount) {
  spent_[static_cast<size_t>(kind)].fetch_add(amount, std::memory_order_relaxed);
}

void Progress::show(const Span* span, int64_t since) {
  changes_.fetch_add(1);
  doing_.store(span == nullptr ? "" : span->doing_, std::memory_order_release);
  detail_.store(span == nullptr ? -1 : span->detail_, std::memory_order_release);
  kind_.store(span == nullptr ? Kind::kCompute : span->kind_, std::memory_order_release);
  since_.store(since, std::memory_order_release);
  changes_.fetch_add(1);
}

void Progress::Span::begin() {
  since_ = clock_now();
  outer_ = innermost;
  innermost = this;
  if (outer_ != nullptr) outer_->progress_->add(outer_->kind_, since_ - outer_->since_);
  progress_->show(this, since_);
}

void Progress::Span::end() {
  const int64_t now = clock_now();
  progress_->add(kind_, now - since_);
  innermost = outer_;
  if (outer_ != nullptr) outer_->since_ = now;
  // A span of another Progress is none of this one's business.
  const bool shown = outer_ != nullptr && outer_->progress_ == progress_;
  progress_->show(shown ? outer_ : nullptr, now);
}

Progress::Now Progress::now() const {
  Now now;
  int64_t since = 0;
  // A writer that is held up in the middle of a change must not hold up the reader: then the parts
  // may belong to two moments.
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const uint64_t before = changes_.load();
    now.doing = doing_.load(std::memory_order_acquire);
    now.detail = detail_.load(std::memory_order_acquire);
    now.kind = kind_.load(std::memory_order_acquire);
    since = since_.load(std::memory_order_acquire);
    if (before % 2 == 0 && changes_.load() == before) break;
  }
  now.steps = steps_.load(std::memory_order_relaxed);
  now.since = time_of(since);
  for (size_t i = 0; i < kKinds; ++i) {
    now.spent[i] = nanoseconds(spent_[i].load(std::memory_order_relaxed));
  }
  if (*now.doing != '\0') {
    now.spent[static_cast<size_t>(now.kind)] += nanoseconds(clock_now() - since);
  }
  for (size_t i = 0; i < kMarks; ++i) now.marks[i] = time_of(marks_[i].load());
  return now;
}

}  // namespace flotilla
