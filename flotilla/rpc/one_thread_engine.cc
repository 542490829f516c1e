#include "flotilla/rpc/one_thread_engine.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
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
  explicit Schedule(std::chrono::milliseconds idle) : idle(idle) {}

  const std::chrono::milliseconds idle;
  Mutex mutex;
  Condition changed;
  std::map<std::pair<Clock::time_point, intptr_t>, Task> tasks FLT_GUARDED_BY(mutex);
  intptr_t next FLT_GUARDED_BY(mutex) = 0;
  bool ends FLT_GUARDED_BY(mutex) = false;
  bool runs FLT_GUARDED_BY(mutex) = false;  // there is a thread that will see new tasks

  void run() {
    // What a task holds goes before the next one is waited for.
    while (Task task = take()) task();
  }

  // The first task that is due, as soon as there is one. None: the thread ends, at the end or for
  // want of tasks.
  Task take() {
    MutexLock lock(mutex);
    Clock::time_point last = Clock::now();  // that there was something to wait for
    for (;;) {
      if (ends || (tasks.empty() && Clock::now() >= last + idle)) {
        runs = false;
        return nullptr;
      }
      if (tasks.empty()) {
        changed.wait_until(lock, last + idle);
      } else if (const auto first = tasks.begin(); first->first.first <= Clock::now()) {
        Task task = std::move(first->second);
        tasks.erase(first);
        return task;
      } else {
        changed.wait_until(lock, first->first.first);
        last = Clock::now();
      }
    }
  }
};

class OneThreadEngine final : public EventEngine {
 public:
  explicit OneThreadEngine(std::chrono::milliseconds idle)
      : schedule_(std::make_shared<Schedule>(idle)) {}
  ~OneThreadEngine() override {
    std::thread last;
    {
      const MutexLock lock(schedule_->mutex);
      schedule_->ends = true;
      schedule_->changed.notify_all();
      last = std::move(thread_);
    }
    if (!last.joinable()) return;
    if (last.get_id() == std::this_thread::get_id()) {
      last.detach();
    } else {
      last.join();
    }
  }

  bool IsWorkerThread() override {
    const MutexLock lock(schedule_->mutex);
    return std::this_thread::get_id() == thread_.get_id();
  }

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
    ensure_thread();
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
    schedule_->changed.notify_one();  // it may have been the last
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
  // One that the system refuses is tried again with the next task: gRPC cannot be told, and whoever
  // waits for a connection has a limit of its own.
  void ensure_thread() FLT_REQUIRES(schedule_->mutex) {
    if (schedule_->runs) return;
    if (thread_.joinable()) thread_.join();  // it has let go of the lock, to end
    try {
      thread_ = start_thread<std::thread>("runs gRPC's timers",
                                          [schedule = schedule_] { schedule->run(); });
      schedule_->runs = true;
    } catch (const Error& error) {
      log::warning("{}", error.what());
    }
  }

  const std::shared_ptr<Schedule> schedule_;
  std::thread thread_ FLT_GUARDED_BY(schedule_->mutex);
};

}  // namespace

std::unique_ptr<EventEngine> one_thread_engine(std::chrono::milliseconds idle) {
  return std::make_unique<OneThreadEngine>(idle);
}

}  // namespace flotilla::rpc
