#include "flotilla/runtime/dataset_run.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <numeric>
#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/thread.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ps/worker.h"
#include "flotilla/runtime/gate.h"
#include "flotilla/runtime/schedule.h"

namespace flotilla {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick(50);

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Calls `leave` at the end of the scope.
template <typename F>
struct Leaving {
  F leave;
  ~Leaving() { leave(); }
};
template <typename F>
Leaving(F) -> Leaving<F>;

int64_t samples_of(const std::vector<Feed>& feeds) {
  if (feeds.empty()) return 0;
  const Tensor& first = feeds.front().tensor;
  if (!first.lod().empty()) return static_cast<int64_t>(first.lod().front().size()) - 1;
  return first.shape().rank() > 0 ? first.shape()[0] : 1;
}

class Session {
 public:
  Session(const DatasetRun& run, data::BatchPass& batches) : run_(run), batches_(batches) {
    require(run.threads > 0, "a run needs at least one thread, but got {}", run.threads);
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
    std::vector<Feed> next = {};  // the batch after that, where rows are asked for ahead of it

    // The calling thread, which prints and listens besides.
    bool first() const { return index == 0; }
  };

  void work(Worker worker) noexcept;
  void loop(Worker& worker, DatasetRunReport::Thread& done);
  // Puts the next batch into worker.feeds, or one that stands for it, unless the pass is over.
  Executor::Next take_batch(Worker& worker);
  std::vector<Feed> feeds_of(data::Batch batch) const;
  std::vector<FetchedValue> step(Worker& worker);
  void show(int64_t batch, std::vector<FetchedValue> values);
  void tick();
  void watch();
  void wait_for_the_others();

  const DatasetRun& run_;
  data::BatchPass& batches_;
  Gate gate_;
  DatasetRunReport report_;  // an entry for each thread, which alone writes it

  // Of the calling thread.
  Clock::time_point last_tick_ = Clock::now();
  Clock::time_point last_watch_ = Clock::now();
  std::vector<FetchedValue> watched_;

  Mutex mutex_;
  Condition changed_;
  int64_t at_work_ FLT_GUARDED_BY(mutex_) = 0;
  std::exception_ptr error_ FLT_GUARDED_BY(mutex_);
};

DatasetRunReport Session::go(Executor& executor, Scope& scope) {
  // What outlives a run belongs to the scope, whoever writes it first.
  for (const auto& var : run_.program.global_block().vars()) {
    if (var->persistable && scope.find(var->name) == nullptr) scope.var(var->name);
  }
  std::vector<std::string> fetches = run_.fetches;
  fetches.insert(fetches.end(), run_.watched.begin(), run_.watched.end());
  std::vector<std::unique_ptr<ps::Worker>> twins;
  std::deque<Executor> executors;
  std::deque<Scope> scopes;
  require_threads(static_cast<int>(run_.threads) - 1, "train on the data set");
  {
    std::vector<std::jthread> threads;
    const Leaving end{[this] { batches_.cancel(); }};
    {
      MutexLock lock(mutex_);
      at_work_ = run_.threads;
    }
    Executor::Options others = executor.options();
    others.progress = nullptr;  // the calling thread stands for all
    for (int64_t t = 1; t < run_.threads; ++t) {
      if (ps::Worker* servers = executor.options().servers) {
        others.servers = twins.emplace_back(servers->twin()).get();
      }
      Worker worker{.index = t,
                    .executor = executors.emplace_back(others),
                    .scope = scopes.emplace_back(&scope)};
      threads.emplace_back([this, worker = std::move(worker)] { work(worker); });
    }
    // Alone, it works where the user's own loop would.
    Scope& mine = run_.threads == 1 ? scope : scopes.emplace_back(&scope);
    work({.executor = executor, .scope = mine, .fetches = std::move(fetches)});
    wait_for_the_others();
  }
  MutexLock lock(mutex_);
  if (error_ != nullptr) std::rethrow_exception(error_);
  return report_;
}

void Session::work(Worker worker) noexcept {
  std::exception_ptr error;
  try {
    const int share = threads() / static_cast<int>(std::min<int64_t>(run_.threads, threads()));
    const ThreadShare limit(share);
    loop(worker, report_.threads[static_cast<size_t>(worker.index)]);
    if (worker.first() && !watched_.empty()) watch();
  } catch (...) {
    error = std::current_exception();
    batches_.cancel();
  }
  MutexLock lock(mutex_);
  if (error_ == nullptr) error_ = std::move(error);
  --at_work_;
  changed_.notify_all();
}

std::vector<Feed> Session::feeds_of(data::Batch batch) const {
  require(batch.size() == run_.feeds.size(), "a batch holds {} tensors, but {} variables are fed",
          batch.size(), run_.feeds.size());
  std::vector<Feed> feeds(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) feeds[i] = {run_.feeds[i], std::move(batch[i])};
  return feeds;
}

Executor::Next Session::take_batch(Worker& worker) {
  using Next = Executor::Next;
  std::vector<Feed> last = std::exchange(worker.feeds, std::exchange(worker.next, {}));
  if (worker.feeds.empty()) {
    const Progress::Span span(worker.executor.options().progress, Progress::Kind::kInput,
                              "waits for a batch");
    while (worker.first() && !batches_.wait_until(Clock::now() + kTick)) tick();
    std::optional<data::Batch> batch = batches_.next();
    if (batch) worker.feeds = feeds_of(std::move(*batch));
  }
  const Next next = worker.executor.next_step(run_.program, !worker.feeds.empty(), worker.scope);
  if (next == Next::kRunWithoutWeight) {
    worker.feeds = std::move(last);  // as good as any
    if (!worker.feeds.empty()) return next;
    for (const std::string& name : run_.feeds) {
      worker.feeds.push_back(blank_feed(run_.program, name));
    }
  }
  ps::Worker* servers = worker.executor.options().servers;
  if (next == Next::kRun && servers != nullptr && servers->looks_ahead()) {
    if (std::optional<data::Batch> ahead = batches_.try_next()) {
      worker.next = feeds_of(std::move(*ahead));
    }
    announce_rows(*servers, worker.feeds, worker.next);
  }
  return next;
}

void Session::loop(Worker& worker, DatasetRunReport::Thread& done) {
  while (true) {
    const Clock::time_point begin = Clock::now();
    const Executor::Next next = take_batch(worker);
    if (next == Executor::Next::kEnd) return;
    const Clock::time_point read = Clock::now();
    done.read_seconds += std::chrono::duration<double>(read - begin).count();
    const int64_t samples = samples_of(worker.feeds);
    std::vector<FetchedValue> values;
    try {
      values = step(worker);
    } catch (Error& error) {
      error.note("batch", fmt::format("{} of thread {}", done.batches + 1, worker.index));
      throw;
    }
    done.run_seconds += seconds_since(read);
    if (next == Executor::Next::kRunWithoutWeight) continue;
    done.batches += 1;
    done.samples += samples;
    if (!worker.first()) continue;
    show(done.batches, std::move(values));
    if (Clock::now() - last_tick_ > kTick) tick();
  }
}

std::vector<FetchedValue> Session::step(Worker& worker) {
  Executor& executor = worker.executor;
  if (run_.threads == 1) {
    Plan& plan = executor.plan(run_.program, worker.feeds, worker.fetches, worker.scope);
    return executor.run(plan, worker.feeds, worker.scope);
  }
  return run_beside_others(gate_, executor, run_.program, worker.feeds, worker.fetches,
                           worker.scope);
}

void Session::show(int64_t batch, std::vector<FetchedValue> values) {
  const auto printed = values.begin() + static_cast<int64_t>(run_.fetches.size());
  watched_.assign(std::make_move_iterator(printed), std::make_move_iterator(values.end()));
  values.erase(printed, values.end());
  if (values.empty() || batch % run_.print_period != 0 || run_.print == nullptr) return;
  run_.print(fetch_line(batch, run_.labels, values));
}

void Session::tick() {
  last_tick_ = Clock::now();
  if (run_.tick != nullptr) run_.tick();
  if (!watched_.empty() && seconds_since(last_watch_) >= run_.watch_seconds) watch();
}

void Session::watch() {
  last_watch_ = Clock::now();
  if (run_.watch != nullptr) run_.watch(watched_);
}

// They run at most a batch each after an error.
void Session::wait_for_the_others() {
  while (true) {
    {
      MutexLock lock(mutex_);
      if (at_work_ > 0) changed_.wait_until(lock, Clock::now() + kTick);
      if (at_work_ == 0) return;
    }
    tick();
  }
}

// Whether steps are taken together with other processes: threads that overtake each other would mix
// them up.
bool keeps_step(const Program& program, const Executor::Options& options) {
  if (options.world != nullptr && options.world->size() > 1 &&
      !collective_schedule(program).empty()) {
    return true;
  }
  if (options.servers == nullptr) return false;
  const Block& block = program.global_block();
  return block.count("geo_sgd") > 0 ||
         (block.count("send_barrier") > 0 && options.servers->options().mode == ps::Mode::kSync);
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
  if (run.threads > 1 && keeps_step(run.program, executor.options())) {
    log::info("a program that runs in step with other processes needs exactly one thread in each");
    DatasetRun in_order = run;
    in_order.threads = 1;
    return run_from_dataset(in_order, batches, executor, scope);
  }
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
    Op& op = block.op(i);
    if ((op.role() & (kOptimizeRole | kLrSchedRole)) != 0) updates.push_back(i);
    // Looking leaves no rows on servers.
    if (op.type() == "distributed_lookup_table") op.set_attr("is_test", true);
  }
  block.erase(updates);
  return copy;
}

}  // namespace flotilla
