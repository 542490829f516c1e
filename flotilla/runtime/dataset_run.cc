#include "flotilla/runtime/dataset_run.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <numeric>
#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/base/mutex.h"
#include "flotilla/device/cpu/parallel.h"

namespace flotilla {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick(50);

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Many run steps at the same time; one that moves variables is alone.
class Gate {
 public:
  void enter() {
    MutexLock lock(mutex_);
    while (inside_ < 0 || waiting_ > 0) changed_.wait(lock);
    ++inside_;
  }
  void leave() {
    MutexLock lock(mutex_);
    if (--inside_ == 0) changed_.notify_all();
  }
  void enter_alone() {
    MutexLock lock(mutex_);
    ++waiting_;
    while (inside_ != 0) changed_.wait(lock);
    --waiting_;
    inside_ = -1;
  }
  void leave_alone() {
    MutexLock lock(mutex_);
    inside_ = 0;
    changed_.notify_all();
  }

 private:
  Mutex mutex_;
  Condition changed_;
  int64_t inside_ FLT_GUARDED_BY(mutex_) = 0;  // -1: one, alone
  int64_t waiting_ FLT_GUARDED_BY(mutex_) = 0;
};

// Calls `leave` at the end of the scope.
template <typename F>
struct Leaving {
  F leave;
  ~Leaving() { leave(); }
};
template <typename F>
Leaving(F) -> Leaving<F>;

int64_t samples_of(const data::Batch& batch) {
  if (batch.empty()) return 0;
  const LoD& lod = batch.front().lod();
  if (!lod.empty()) return static_cast<int64_t>(lod.front().size()) - 1;
  return batch.front().shape().rank() > 0 ? batch.front().shape()[0] : 1;
}

class Session {
 public:
  Session(const DatasetRun& run, data::BatchPass& batches) : run_(run), batches_(batches) {
    require(run.threads > 0, "a run needs at least one thread, but was given {}", run.threads);
    require(run.print_period > 0, "print_period must be positive, but is {}", run.print_period);
    require(run.labels.size() == run.fetches.size(),
            "fetch_info must name each of the {} variables of fetch_list, but has {} names",
            run.fetches.size(), run.labels.size());
    report_.threads.resize(static_cast<size_t>(run.threads));
  }

  DatasetRunReport go(Executor& executor, Scope& scope);

 private:
  struct Worker {
    int64_t index = 0;
    Executor& executor;
    Scope& scope;
    std::vector<std::string> fetches = {};
    std::vector<Feed> feeds = {};
  };

  void work(Worker worker) noexcept;
  void loop(Worker& worker, DatasetRunReport::Thread& done);
  std::vector<FetchedValue> step(Worker& worker);
  void show(int64_t batch, std::vector<FetchedValue> values);
  void fail(std::exception_ptr error);
  void supervise();

  const DatasetRun& run_;
  data::BatchPass& batches_;
  Gate gate_;
  DatasetRunReport report_;  // an entry for each thread, which alone writes it

  Mutex mutex_;
  Condition news_;
  int64_t at_work_ FLT_GUARDED_BY(mutex_) = 0;
  std::deque<std::string> lines_ FLT_GUARDED_BY(mutex_);
  std::vector<FetchedValue> watched_ FLT_GUARDED_BY(mutex_);
  std::exception_ptr error_ FLT_GUARDED_BY(mutex_);
};

DatasetRunReport Session::go(Executor& executor, Scope& scope) {
  // What outlives a run belongs to the scope, whoever writes it first.
  for (const auto& var : run_.program.global_block().vars()) {
    if (var->persistable && scope.find(var->name) == nullptr) scope.var(var->name);
  }
  std::deque<Executor> executors;
  std::deque<Scope> scopes;
  std::vector<std::string> fetches = run_.fetches;
  fetches.insert(fetches.end(), run_.watched.begin(), run_.watched.end());
  {
    std::vector<std::jthread> threads;
    const Leaving end{[this] { batches_.cancel(); }};
    for (int64_t t = 0; t < run_.threads; ++t) {
      const bool only = run_.threads == 1;
      Worker worker{.index = t,
                    .executor = only ? executor : executors.emplace_back(executor.options()),
                    .scope = only ? scope : scopes.emplace_back(&scope),
                    .fetches = t == 0 ? fetches : std::vector<std::string>{}};
      {
        MutexLock lock(mutex_);
        ++at_work_;
      }
      threads.emplace_back([this, worker = std::move(worker)] { work(worker); });
    }
    supervise();
  }
  MutexLock lock(mutex_);
  if (error_ != nullptr) std::rethrow_exception(error_);
  return report_;
}

void Session::work(Worker worker) noexcept {
  try {
    const int share = threads() / static_cast<int>(std::min<int64_t>(run_.threads, threads()));
    const ThreadShare limit(share);
    loop(worker, report_.threads[static_cast<size_t>(worker.index)]);
  } catch (...) {
    fail(std::current_exception());
  }
  MutexLock lock(mutex_);
  --at_work_;
  news_.notify_all();
}

void Session::loop(Worker& worker, DatasetRunReport::Thread& done) {
  while (true) {
    const Clock::time_point begin = Clock::now();
    std::optional<data::Batch> batch = batches_.next();
    done.read_seconds += seconds_since(begin);
    if (!batch.has_value()) return;
    require(batch->size() == run_.feeds.size(),
            "a batch holds {} tensors, but {} variables are fed", batch->size(), run_.feeds.size());
    const Clock::time_point read = Clock::now();
    const int64_t samples = samples_of(*batch);
    worker.feeds.resize(batch->size());
    for (size_t i = 0; i < batch->size(); ++i) {
      worker.feeds[i].name = run_.feeds[i];
      worker.feeds[i].tensor = std::move((*batch)[i]);
    }
    try {
      show(done.batches + 1, step(worker));
    } catch (Error& error) {
      error.note("batch", fmt::format("{} of thread {}", done.batches + 1, worker.index));
      throw;
    }
    done.run_seconds += seconds_since(read);
    done.batches += 1;
    done.samples += samples;
  }
}

std::vector<FetchedValue> Session::step(Worker& worker) {
  const auto plan = [&]() -> Plan& {
    return worker.executor.plan(run_.program, worker.feeds, worker.fetches, worker.scope);
  };
  if (run_.threads == 1) return worker.executor.run(plan(), worker.feeds, worker.scope);
  {
    gate_.enter();
    const Leaving leaving{[this] { gate_.leave(); }};
    Plan& ready = plan();
    if (ready.settled()) return worker.executor.run(ready, worker.feeds, worker.scope);
  }
  gate_.enter_alone();
  const Leaving leaving{[this] { gate_.leave_alone(); }};
  return worker.executor.run(plan(), worker.feeds, worker.scope);
}

void Session::show(int64_t batch, std::vector<FetchedValue> values) {
  if (values.empty()) return;  // of a thread that prints nothing
  const auto printed = values.begin() + static_cast<int64_t>(run_.fetches.size());
  MutexLock lock(mutex_);
  watched_.assign(std::make_move_iterator(printed), std::make_move_iterator(values.end()));
  values.erase(printed, values.end());
  if (values.empty() || batch % run_.print_period != 0) return;
  lines_.push_back(fetch_line(batch, run_.labels, values));
  news_.notify_all();
}

void Session::fail(std::exception_ptr error) {
  {
    MutexLock lock(mutex_);
    if (error_ == nullptr) error_ = std::move(error);
  }
  batches_.cancel();
}

// What the calling thread does meanwhile. An error of its own ends the others too.
void Session::supervise() {
  Clock::time_point next_watch =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(run_.watch_seconds));
  bool working = true;
  while (working) {
    std::deque<std::string> lines;
    std::vector<FetchedValue> watched;
    {
      MutexLock lock(mutex_);
      if (lines_.empty() && at_work_ > 0) news_.wait_until(lock, Clock::now() + kTick);
      lines.swap(lines_);
      working = at_work_ > 0 || !lines.empty();
      if (run_.watch != nullptr && (Clock::now() >= next_watch || !working)) watched = watched_;
    }
    for (const std::string& line : lines) {
      if (run_.print != nullptr) run_.print(line);
    }
    if (!watched.empty()) {
      run_.watch(watched);
      next_watch = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(run_.watch_seconds));
    }
    if (run_.tick != nullptr) run_.tick();
  }
}

template <typename T>
void append_values(std::string& text, const Tensor& tensor) {
  const std::span<T> values = tensor.span<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ' ';
    if constexpr (std::is_floating_point_v<T>) {
      text += fmt::format("{:g}", values[i]);
    } else {
      text += fmt::format("{}", static_cast<int64_t>(values[i]));
    }
  }
}

void append_tensor(std::string& text, const std::string& label, const Tensor& tensor) {
  text += fmt::format(", {}[{}]:[", label, tensor.numel());
  switch (tensor.dtype()) {
    case f32:
      append_values<float>(text, tensor);
      break;
    case f64:
      append_values<double>(text, tensor);
      break;
    case i64:
      append_values<int64_t>(text, tensor);
      break;
    case i32:
      append_values<int32_t>(text, tensor);
      break;
    case boolean:
      append_values<bool>(text, tensor);
      break;
    default:
      text += fmt::format("{}", tensor.dtype());
  }
  text += ']';
}

}  // namespace

int64_t DatasetRunReport::batches() const {
  return std::accumulate(threads.begin(), threads.end(), int64_t{0},
                         [](int64_t sum, const Thread& thread) { return sum + thread.batches; });
}

int64_t DatasetRunReport::samples() const {
  return std::accumulate(threads.begin(), threads.end(), int64_t{0},
                         [](int64_t sum, const Thread& thread) { return sum + thread.samples; });
}

std::string fetch_line(int64_t batch, const std::vector<std::string>& labels,
                       const std::vector<FetchedValue>& values) {
  const std::time_t now = std::time(nullptr);
  std::string text =
      fmt::format("time: [{:%Y-%m-%d %H:%M:%S}], batch: [{}]", fmt::localtime(now), batch);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto* rows = std::get_if<SelectedRows>(&values[i]);
    append_tensor(text, labels[i], rows == nullptr ? std::get<Tensor>(values[i]) : rows->value);
  }
  return text;
}

DatasetRunReport run_from_dataset(const DatasetRun& run, data::BatchPass& batches,
                                  Executor& executor, Scope& scope) {
  DatasetRunReport report = Session(run, batches).go(executor, scope);
  if (!run.debug || run.print == nullptr) return report;
  for (size_t t = 0; t < report.threads.size(); ++t) {
    const DatasetRunReport::Thread& done = report.threads[t];
    run.print(fmt::format(
        "thread {}: {} batches, {} samples, run {:.6f} seconds, waited for data {:.6f} seconds", t,
        done.batches, done.samples, done.run_seconds, done.read_seconds));
  }
  return report;
}

std::shared_ptr<Program> without_updates(const Program& program) {
  std::shared_ptr<Program> copy = program.clone();
  Block& block = copy->global_block();
  std::vector<size_t> updates;
  for (size_t i = 0; i < block.size(); ++i) {
    if ((block.op(i).role() & (kOptimizeRole | kLrSchedRole)) != 0) updates.push_back(i);
  }
  block.erase(updates);
  return copy;
}

}  // namespace flotilla
