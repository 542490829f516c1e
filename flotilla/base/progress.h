// flotilla/base/progress.h
//
// What a process is doing, for whoever watches the job: steps done, what it does or waits for now,
// and where its time went. The threads that work write it, one thread reads it now and then.
//
//   Progress::Span span(progress, Progress::Kind::kInput, "waits for batch", number);
//
// Spans of one thread nest, and the time of an inner span is not that of the outer: an all-reduce
// inside a step is communication, not compute. Times of several threads add up, so only those
// threads should open spans that the next step waits for.
//
// Thread safety: all calls, from any thread. Cost: no lock, no allocation; a span reads the clock
// twice (a quarter of a microsecond in all), and with a null Progress* it is one branch.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace flotilla {

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Kind { kCompute, kInput, kCommunication, kBarrier };
  static constexpr size_t kKinds = 4;

  // Moments that a process reaches once.
  enum class Mark {
    kImported,
    kJoined,
    kFirstStep,
    kAlone,  // it trains a model of its own, although it is one of several workers
  };
  static constexpr size_t kMarks = 4;

  // A step of the job is done; the first one sets Mark::kFirstStep.
  void step_done();
  // The first call of each mark counts.
  void reach(Mark mark);

  struct Now {
    int64_t steps = 0;
    const char* doing = "";  // "": nothing that was told
    int64_t detail = -1;     // the bucket, batch, ... ; -1: none
    Kind kind = Kind::kCompute;
    Clock::time_point since = {};  // of `doing`
    // So far, with the span that is open.
    std::array<std::chrono::nanoseconds, kKinds> spent = {};
    // {}: not yet.
    std::array<Clock::time_point, kMarks> marks = {};
  };
  Now now() const;

  class Span {
   public:
    // REQUIRES: `doing` lives for ever; `progress` may be null. Ends in the thread and in the
    // reverse of the order in which it began.
    Span(Progress* progress, Kind kind, const char* doing, int64_t detail = -1)
        : progress_(progress), kind_(kind), doing_(doing), detail_(detail) {
      if (progress_ != nullptr) begin();
    }
    ~Span() {
      if (progress_ != nullptr) end();
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    friend class Progress;
    void begin();
    void end();

    Progress* progress_;
    Kind kind_;
    const char* doing_;
    int64_t detail_;
    int64_t since_ = 0;  // when this span, not an inner one, went on
    Span* outer_ = nullptr;
  };

 private:
  void add(Kind kind, int64_t nanoseconds);
  void show(const Span* span, int64_t since);

  std::atomic<int64_t> steps_ = 0;
  std::array<std::atomic<int64_t>, kKinds> spent_ = {};  // nanoseconds
  std::array<std::atomic<int64_t>, kMarks> marks_ = {};  // 0: not yet
  // What is done now. The parts change together; `changes_` is odd while they do.
  std::atomic<uint64_t> changes_ = 0;
  std::atomic<const char*> doing_ = "";
  std::atomic<int64_t> detail_ = -1;
  std::atomic<Kind> kind_ = Kind::kCompute;
  std::atomic<int64_t> since_ = 0;
};

// "compute", "input", "communication", "barrier"
const char* name_of(Progress::Kind kind);

}  // namespace flotilla
