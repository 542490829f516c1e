#include "flotilla/rpc/one_thread_engine.h"

#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "flotilla/base/mutex.h"
#include "flotilla/base/thread.h"

namespace flotilla::rpc {
namespace {

using grpc_event_engine::experimental::EndpointConfig;
using grpc_event_engine::experimental::EventEngine;
using grpc_event_engine::experimental::MemoryAllocator;
using grpc_event_engine::experimental::MemoryAllocatorFactory;
using Clock = std::chrono::steady_clock;
using Task = absl::AnyInvocable<void()>;

// Shared with the thread, which may be the one in which the engine goes.
struct Schedule {
  Mutex mutex;
  Condition changed;
  std::map<std::pair<Clock::time_point, intptr_t>, Task> tasks FLT_GUARDED_BY(mutex);
  intptr_t next FLT_GUARDED_BY(mutex) = 0;
  bool ends FLT_GUARDED_BY(mutex) = false;

  void run() {
    // What a task holds goes before the next one is waited for.
    while (Task task = take()) task();
  }

  // The first task that is due, as soon as there is one; none at the end.
  Task take() {
    MutexLock lock(mutex);
    for (;;) {
      if (ends) return nullptr;
      if (tasks.empty()) {
        changed.wait(lock);
      } else if (const auto first = tasks.begin(); first->first.first <= Clock::now()) {
        Task task = std::move(first->second);
        tasks.erase(first);
        return task;
      } else {
        changed.wait_until(lock, first->first.first);
      }
    }
  }
};

class OneThreadEngine final : public EventEngine {
 public:
  OneThreadEngine()
      : schedule_(std::make_shared<Schedule>()),
        thread_(start_thread<std::thread>("runs gRPC's timers",
                                          [schedule = schedule_] { schedule->run(); })) {}
  ~OneThreadEngine() override {
    {
      const MutexLock lock(schedule_->mutex);
      schedule_->ends = true;
      schedule_->changed.notify_all();
    }
    if (IsWorkerThread()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

  bool IsWorkerThread() override { return std::this_thread::get_id() == thread_.get_id(); }

  void Run(Closure* closure) override { RunAfter(Duration::zero(), closure); }
  void Run(Task task) override { RunAfter(Duration::zero(), std::move(task)); }
  TaskHandle RunAfter(Duration when, Closure* closure) override {
    return RunAfter(when, [closure] { closure->Run(); });
  }
  TaskHandle RunAfter(Duration when, Task task) override {
    // Timers of gRPC that never fire lie at the end of time.
    const auto wait = std::min<Duration>(when, std::chrono::hours(24 * 365));
    const MutexLock lock(schedule_->mutex);
    const auto key = std::pair(Clock::now() + wait, schedule_->next++);
    schedule_->tasks.emplace(key, std::move(task));
    schedule_->changed.notify_one();
    return {static_cast<intptr_t>(key.first.time_since_epoch().count()), key.second};
  }
  bool Cancel(TaskHandle handle) override {
    const Clock::time_point due{Clock::duration(handle.keys[0])};
    Task task;  // its end may call back: outside of the lock
    const MutexLock lock(schedule_->mutex);
    const auto found = schedule_->tasks.find({due, handle.keys[1]});
    if (found == schedule_->tasks.end()) return false;
    task = std::move(found->second);
    schedule_->tasks.erase(found);
    return true;
  }

  absl::StatusOr<std::unique_ptr<Listener>> CreateListener(
      Listener::AcceptCallback, absl::AnyInvocable<void(absl::Status)>, const EndpointConfig&,
      std::unique_ptr<MemoryAllocatorFactory>) override {
    return absl::UnimplementedError("this engine has timers only");
  }
  ConnectionHandle Connect(OnConnectCallback on_connect, const ResolvedAddress&,
                           const EndpointConfig&, MemoryAllocator, Duration) override {
    Run([answer = std::move(on_connect)]() mutable {
      answer(absl::UnimplementedError("this engine has timers only"));
    });
    return {};
  }
  bool CancelConnect(ConnectionHandle) override { return false; }
  std::unique_ptr<DNSResolver> GetDNSResolver(const DNSResolver::ResolverOptions&) override {
    return nullptr;
  }

 private:
  const std::shared_ptr<Schedule> schedule_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<EventEngine> one_thread_engine() { return std::make_unique<OneThreadEngine>(); }

}  // namespace flotilla::rpc
