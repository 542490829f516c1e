// flotilla/ps/push_queue_test.cc

#include "flotilla/ps/push_queue.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/testing/errors.h"

namespace flotilla::ps {
namespace {

// A server that answers when it is told to, and counts what it was sent.
class SlowServer final : public Channel {
 public:
  Bytes allocate(size_t bytes) override { return heap_bytes(bytes); }

  void call(const Bytes&, size_t, Done done) override {
    std::string cancelled;
    {
      const MutexLock lock(mutex_);
      cancelled = cancelled_;
      if (cancelled.empty()) waiting_.push_back(done);
      changed_.notify_all();
    }
    if (!cancelled.empty()) end(done, cancelled);
  }

  void cancel(const std::string& reason) override {
    std::vector<Done> ended;
    {
      const MutexLock lock(mutex_);
      cancelled_ = reason;
      ended = std::move(waiting_);
      waiting_.clear();
    }
    for (const Done& done : ended) end(done, reason);
  }

  // Answers the next request, as soon as it is there.
  void answer_one() {
    Done done;
    {
      MutexLock lock(mutex_);
      while (waiting_.empty()) changed_.wait(lock);
      done = std::move(waiting_.front());
      waiting_.erase(waiting_.begin());
    }
    done(heap_bytes(0), nullptr);
  }

 private:
  static void end(const Done& done, const std::string& why) {
    done({}, std::make_exception_ptr(Error(ErrorKind::kUnavailable, why)));
  }

  Mutex mutex_;
  Condition changed_;
  std::string cancelled_ FLT_GUARDED_BY(mutex_);  // why; empty: it is not
  std::vector<Done> waiting_ FLT_GUARDED_BY(mutex_);
};

QueuedStep step_of(Client& client) {
  QueuedStep step;
  step.requests.push_back(client.prepare(0, ScatteredStep{}, 0));
  return step;
}

TEST(PushQueue, AFastWorkerHoldsNoMoreStepsThanTheQueueIsLong) {
  const auto server = std::make_shared<SlowServer>();
  Client client(
      {.servers = 1, .incarnation = 1, .connect = [&](int, const auto&) { return server; }});
  constexpr int kLength = 3, kSteps = 20;
  PushQueue queue(client, {.length = kLength});
  std::atomic<int> put = 0, answered = 0, most = 0;
  std::jthread worker([&] {
    for (int i = 0; i < kSteps; ++i) {
      queue.put(step_of(client));
      const int held = ++put - answered;
      if (held > most) most = held;
    }
  });
  for (int i = 0; i < kSteps; ++i) {
    // The worker gets as far as the queue lets it, and no further.
    while (put < std::min(kSteps, i + kLength)) std::this_thread::yield();
    ++answered;
    server->answer_one();
  }
  worker.join();
  queue.flush();
  EXPECT_EQ(put, kSteps);
  EXPECT_LE(most, kLength);
}

TEST(PushQueue, WhoWaitsForRoomHearsThatTheServerIsGone) {
  const auto server = std::make_shared<SlowServer>();
  Client client(
      {.servers = 1, .incarnation = 1, .connect = [&](int, const auto&) { return server; }});
  PushQueue queue(client, {.length = 1});
  queue.put(step_of(client));
  std::jthread abort([&] { client.abort("the job is ending"); });
  EXPECT_REFUSED(
      [&] {
        queue.put(step_of(client));
        queue.flush();
      }(),
      "the job is ending");
}

}  // namespace
}  // namespace flotilla::ps
