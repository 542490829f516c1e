#include <absl/synchronization/mutex.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <tuple>

#include "bind.h"
#include "bind_comm.h"
#include "bind_job.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/device/allocator.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/random.h"
#include "flotilla/runtime/executor.h"
#include "flotilla/runtime/model_io.h"
#include "flotilla/runtime/scope.h"
#include "gil.h"
#include "interrupts.h"
#include "running.h"

namespace flotilla::python {
namespace {

// The threads of a process do not live on in a child that it forks, and a loop that waits for them
// would wait for ever.
std::atomic<bool> threads_started = false;
std::atomic<bool> threads_lost = false;
std::atomic<int> worker_id = -1;  // of a loader's worker process

void watch_forks() {
  pthread_atfork(nullptr, nullptr, [] { threads_lost = threads_started.load(); });
}

// A variable of a scope, as find_var gives it. Holds on to the tensor after the scope forgets it.
struct ScopeVar {
  std::shared_ptr<Tensor> tensor = {};
};

// An executor that several threads may call: they take turns.
struct Runner {
  Runner(Generator& generator, job::Fleet& with, std::optional<int> gpu)
      : fleet(with), executor(generator, with, gpu) {}

  // The program as it is now: another thread may go on building it while this one runs it.
  // REQUIRES: the lock of the interpreter is held.
  struct Snapshot {
    uint64_t id = 0;  // of the program
    uint64_t version = 0;
    std::shared_ptr<const Program> copy = {};
    uint64_t dropped = 0;  // the copy that will not be run any more; 0: none
  };
  Snapshot snapshot_of(const Program& program);
  // What the fetches need of a program, reading the feeds as given.
  std::shared_ptr<const Program> pruned(const Program& program, const std::vector<Feed>& feeds,
                                        const std::vector<std::string>& fetches)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn);

  // The executor, once it has forgotten what was dropped.
  Executor& executor_for(const Snapshot& snapshot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn) {
    if (snapshot.dropped != 0) executor.get().forget(snapshot.dropped);
    return executor.get();
  }

  job::Fleet& fleet;
  absl::Mutex turn;
  WorkersExecutor executor ABSL_GUARDED_BY(turn);

 private:
  static constexpr size_t kMostSnapshots = 64;

  std::list<Snapshot> snapshots_;  // the latest used first
  // By the program's id, and the names of the feeds and fetches.
  using Cut = std::tuple<uint64_t, std::vector<std::string>, std::vector<std::string>>;
  std::map<Cut, std::shared_ptr<const Program>> pruned_ ABSL_GUARDED_BY(turn);
};

std::shared_ptr<const Program> Runner::pruned(const Program& program,
                                              const std::vector<Feed>& feeds,
                                              const std::vector<std::string>& fetches) {
  std::vector<std::string> fed;
  for (const Feed& feed : feeds) fed.push_back(feed.name);
  if (pruned_.size() >= kMostSnapshots) pruned_.clear();
  std::shared_ptr<const Program>& kept = pruned_[{program.id(), fed, fetches}];
  if (kept == nullptr) kept = program.prune(fed, fetches);
  return kept;
}

Runner::Snapshot Runner::snapshot_of(const Program& program) {
  const auto found = std::find_if(snapshots_.begin(), snapshots_.end(),
                                  [&](const Snapshot& each) { return each.id == program.id(); });
  if (found != snapshots_.end() && found->version == program.version()) {
    snapshots_.splice(snapshots_.begin(), snapshots_, found);
    return snapshots_.front();
  }
  Snapshot made{.id = program.id(), .version = program.version(), .copy = program.clone()};
  snapshots_.push_front(made);
  const bool full = snapshots_.size() > kMostSnapshots;
  const auto old = found != snapshots_.end() ? found : full ? --snapshots_.end() : found;
  if (old != snapshots_.end()) {
    made.dropped = old->copy->id();
    snapshots_.erase(old);
  }
  return made;
}

// What has no dtype of its own gets the variable's; a number fed to a vector becomes one element.
Tensor to_feed(const Var& var, nb::handle value) {
  if (nb::isinstance<Tensor>(value)) {
    const Tensor& tensor = nb::cast<Tensor&>(value);
    Tensor plain = tensor.plain();
    plain.set_lod(tensor.lod());
    return plain;
  }
  require(!value.is_none(), "the feed \"{}\" is None, but an array is expected", var.name);
  try {
    Tensor tensor = from_numpy(value, var.dtype);
    const bool widen = tensor.shape().rank() == 0 && var.shape.rank() == 1;
    return widen ? tensor.reshaped(Shape{1}) : tensor;
  } catch (nb::python_error& error) {
    refuse("the feed \"{}\" cannot be converted to an array: {}", var.name,
           nb::cast<std::string>(nb::str(error.value())));
  }
}

// A dict, or a list with one dict, as loaders give it.
nb::object single_dict(nb::object feed) {
  if (nb::isinstance<nb::list>(feed) || nb::isinstance<nb::tuple>(feed)) {
    const size_t batches = nb::len(feed);
    require(batches <= 1,
            "feed must be a dict or a list with one dict, but the list holds {}: a program on one "
            "place takes one batch at a time",
            batches);
    feed = batches == 0 ? nb::none() : nb::object(feed[0]);
  }
  require(feed.is_none() || nb::isinstance<nb::dict>(feed),
          "feed must be a dict from names to arrays, but is of type {}",
          nb::cast<std::string>(nb::type_name(feed.type())));
  return feed;
}

// The variable that was meant by a name that the program does not have; "": none is near.
std::string meant_by(const std::string& name, const Program& program, const nb::dict& feed) {
  std::vector<std::string> missing;
  for (const auto& var : program.global_block().vars()) {
    if (var->is_data && !feed.contains(var->name.c_str())) missing.push_back(var->name);
  }
  return nearest(name, missing);
}

// The plan knows only what the program has variables for: here the sentence gets all names.
[[noreturn]] void throw_with_names(const Error& error, const Program& program, nb::object given) {
  const std::string found = "only other names";
  std::string text = error.what();
  const size_t at = error.sentence().find(found);
  const nb::object feed = single_dict(std::move(given));
  if (error.sentence().find("must be fed") == std::string::npos || feed.is_none()) throw;
  const size_t begin = at == std::string::npos ? text.find("nothing") : at;
  if (begin == std::string::npos || nb::len(feed) == 0) throw;
  std::vector<std::string> names;
  std::string hint;
  for (auto [key, value] : nb::borrow<nb::dict>(feed)) {
    const std::string name = to_names(key).front();
    names.push_back(fmt::format("\"{}\"", name));
    if (program.global_block().find_var(name) != nullptr) continue;
    const std::string meant = meant_by(name, program, nb::borrow<nb::dict>(feed));
    if (!meant.empty()) hint = fmt::format(". Did you mean \"{}\" instead of \"{}\"?", meant, name);
  }
  text.replace(begin, at == std::string::npos ? 7 : found.size(),
               fmt::format("only {}{}", fmt::join(names, ", "), hint));
  throw Error(error.kind(), text);
}

std::vector<Feed> to_feeds(const Program& program, nb::object given) {
  std::vector<Feed> feeds;
  const nb::object feed = single_dict(std::move(given));
  if (feed.is_none()) return feeds;
  feeds.reserve(nb::len(feed));
  for (auto [key, value] : nb::borrow<nb::dict>(feed)) {
    std::vector<std::string> name = to_names(key);
    require(name.size() == 1, "the keys of feed must be names or variables");
    if (const Var* var = program.global_block().find_var(name.front())) {
      feeds.push_back({.name = std::move(name.front()), .tensor = to_feed(*var, value)});
    } else {
      const std::string meant = meant_by(name.front(), program, nb::borrow<nb::dict>(feed));
      const std::string text =
          fmt::format("the program has no variable \"{}\", so its feed is ignored.{}", name.front(),
                      meant.empty() ? "" : fmt::format(" Did you mean \"{}\"?", meant));
      if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 2) != 0) throw nb::python_error();
    }
  }
  return feeds;
}

nb::object from_fetched(FetchedValue& value, bool as_numpy) {
  if (auto* rows = std::get_if<SelectedRows>(&value)) return nb::cast(std::move(*rows));
  Tensor& tensor = std::get<Tensor>(value);
  return as_numpy ? to_numpy(tensor) : nb::cast(std::move(tensor));
}

nb::list run_once(Runner& runner, const Program& given, nb::object feed, nb::object fetch_list,
                  Scope& scope, bool as_numpy, bool prune) {
  refuse_after_fork();
  const Runner::Snapshot snapshot = runner.snapshot_of(given);
  const std::vector<Feed> feeds = to_feeds(*snapshot.copy, feed);
  const std::vector<std::string> fetches = to_names(fetch_list);
  std::shared_ptr<const Program> program = snapshot.copy;
  std::vector<FetchedValue> values;
  bool new_plan = false;
  try {
    const InterruptibleRelease released;
    program = runner.fleet.before_run(*snapshot.copy, scope, given.id());
    const Running running;
    const absl::MutexLock lock(&runner.turn);
    if (prune && !fetches.empty()) program = runner.pruned(*program, feeds, fetches);
    Executor& executor = runner.executor_for(snapshot);
    const int64_t plans = executor.plans_made();
    values = executor.run(*program, feeds, fetches, scope);
    new_plan = executor.plans_made() != plans;
  } catch (const Error& error) {
    throw_with_names(error, *program, feed);
  }
  if (new_plan) warn_if_alone(runner.fleet, *program);
  nb::list results;
  for (FetchedValue& value : values) results.append(from_fetched(value, as_numpy));
  return results;
}

// A daemon's run ends nowhere else: what it converts may ask for the lock, too.
nb::list run(Runner& runner, const Program& program, nb::object feed, nb::object fetch_list,
             Scope& scope, bool as_numpy, bool prune) {
  return unless_the_end([&] {
    return run_once(runner, program, std::move(feed), std::move(fetch_list), scope, as_numpy,
                    prune);
  });
}

template <typename Read>
auto read_plan(Runner& runner, const Program& program, nb::object feed, nb::object fetch_list,
               Scope& scope, Read read) {
  refuse_after_fork();
  const std::vector<Feed> feeds = to_feeds(program, std::move(feed));
  const std::vector<std::string> fetches = to_names(fetch_list);
  const Runner::Snapshot snapshot = runner.snapshot_of(program);
  const InterruptibleRelease released;
  const Running running;
  const absl::MutexLock lock(&runner.turn);
  return read(runner.executor_for(snapshot).plan(*snapshot.copy, feeds, fetches, scope));
}

nb::dict plan_stats(Runner& runner, const Program& program, nb::object feed, nb::object fetch_list,
                    Scope& scope) {
  const PlanStats stats = read_plan(runner, program, std::move(feed), std::move(fetch_list), scope,
                                    [](const Plan& plan) { return plan.stats(); });
  nb::dict d;
  d["steps"] = stats.steps;
  d["reorders"] = stats.reorders;
  d["arena_bytes"] = stats.arena_bytes;
  d["no_reuse_bytes"] = stats.no_reuse_bytes;
  return d;
}

nb::object wrap_var(std::shared_ptr<Tensor> tensor) {
  return tensor == nullptr ? nb::none() : nb::cast(ScopeVar{std::move(tensor)});
}

void bind_scope(nb::module_& m) {
  nb::class_<ScopeVar>(m, "ScopeVariable", "A variable of a scope.")
      .def("get_tensor", [](const ScopeVar& v) { return v.tensor; })
      .def("set_tensor", [](ScopeVar& v, const Tensor& tensor) { *v.tensor = tensor.clone(); })
      .def("is_initialized", [](const ScopeVar& v) { return v.tensor->defined(); });

  nb::class_<Scope>(m, "Scope", nb::dynamic_attr(), "Where variables live between runs.")
      .def(nb::new_([] { return std::make_shared<Scope>(); }))
      .def(
          "find_var", [](const Scope& s, std::string_view name) { return wrap_var(s.share(name)); },
          nb::arg("name"), "The variable here or in a parent, None where there is none.")
      .def(
          "var",
          [](Scope& s, std::string_view name) {
            s.var(name);
            return wrap_var(s.share(name));
          },
          nb::arg("name"), "The variable of this scope, made where there is none.")
      .def("local_var_names", &Scope::names)
      .def("size", [](const Scope& s) { return s.names().size(); })
      .def(
          "erase",
          [](Scope& s, const std::vector<std::string>& names) {
            for (const std::string& name : names) s.erase(name);
          },
          nb::arg("names"))
      .def(
          "new_scope", [](Scope& s) { return s.new_scope().shared_from_this(); },
          nb::keep_alive<0, 1>(), "A scope that looks into this one for what it does not hold.")
      .def("drop_kids", &Scope::drop_kids)
      .def("_clear", &Scope::clear);
}

void bind_executor(nb::module_& m) {
  nb::class_<Generator>(m, "Generator", "The source of random streams.")
      .def(nb::init<uint64_t>(), nb::arg("seed") = 0)
      .def("manual_seed", &Generator::seed)
      .def("initial_seed", &Generator::initial_seed);

  nb::class_<Runner>(m, "Executor", "Runs programs; plans are made once and looked up later.")
      .def(nb::init<Generator&, job::Fleet&, std::optional<int>>(), nb::arg("generator"),
           nb::arg("fleet"), nb::arg("gpu").none() = nb::none(), nb::keep_alive<1, 2>())
      .def("run", &run, nb::arg("program"), nb::arg("feed").none(), nb::arg("fetch_list").none(),
           nb::arg("scope"), nb::arg("as_numpy") = true, nb::arg("prune") = false)
      .def(
          "plan",
          [](Runner& runner, const Program& program, nb::object feed, nb::object fetch_list,
             Scope& scope) {
            return read_plan(runner, program, std::move(feed), std::move(fetch_list), scope,
                             [](const Plan& plan) { return plan.print(); });
          },
          nb::arg("program"), nb::arg("feed").none(), nb::arg("fetch_list").none(),
          nb::arg("scope"), "The plan of a program as text.")
      .def("plan_stats", &plan_stats, nb::arg("program"), nb::arg("feed").none(),
           nb::arg("fetch_list").none(), nb::arg("scope"))
      .def_prop_ro(
          "plans_made",
          [](Runner& runner) {
            const absl::MutexLock lock(&runner.turn);
            return runner.executor.get().plans_made();
          },
          nb::call_guard<GilReleased>());
}

void bind_saves(nb::module_& m) {
  using Free = nb::call_guard<GilReleased>;
  nb::class_<SaveSet>(m, "SaveSet", "Files of a folder that are saved as one, when a block ends.")
      .def(
          "__init__", [](SaveSet* self, const std::string& folder) { new (self) SaveSet(folder); },
          nb::arg("folder"))
      .def(
          "__enter__", [](SaveSet& self) { return &self; }, nb::rv_policy::reference)
      .def(
          "__exit__",
          [](SaveSet& self, nb::handle type, nb::handle, nb::handle) {
            const bool done = type.is_none();
            const GilReleased released;
            done ? self.commit() : self.discard();
          },
          nb::arg("type").none(), nb::arg("error").none(), nb::arg("traceback").none())
      .def(
          "add",
          [](SaveSet& self, const std::string& name, nb::bytes bytes) {
            const std::string_view view(bytes.c_str(), bytes.size());
            const GilReleased released;
            self.add(name, view);
          },
          nb::arg("name"), nb::arg("bytes"))
      .def("add_vars", &add_vars, nb::arg("names"), nb::arg("scope"), Free())
      .def("add_combined", &add_combined, nb::arg("file"), nb::arg("names"), nb::arg("scope"),
           Free());
  nb::class_<SavedFiles>(m, "SavedFiles", "Files of a folder, as they are when a block begins.")
      .def(
          "__init__",
          [](SavedFiles* self, const std::string& folder) {
            const GilReleased released;
            new (self) SavedFiles(folder);
          },
          nb::arg("folder"))
      .def(
          "__enter__", [](SavedFiles& self) { return &self; }, nb::rv_policy::reference)
      .def(
          "__exit__", [](SavedFiles& self, nb::handle, nb::handle, nb::handle) { self.close(); },
          nb::arg("type").none(), nb::arg("error").none(), nb::arg("traceback").none())
      .def("__contains__", &SavedFiles::contains)
      .def("names", &SavedFiles::names, Free())
      .def("notice_times", &SavedFiles::notice_times)
      .def(
          "read",
          [](SavedFiles& self, const std::string& name) {
            std::string bytes;
            {
              const GilReleased released;
              bytes = self.read(name);
            }
            return nb::bytes(bytes.data(), bytes.size());
          },
          nb::arg("name"))
      .def(
          "read_program",
          [](SavedFiles& self, const std::string& name) { return read_program(self, name); },
          nb::arg("name"))
      .def(
          "load_vars",
          [](SavedFiles& self, const std::vector<std::string>& names, Scope& scope,
             const Block* expected) { load_vars(self, names, scope, expected); },
          nb::arg("names"), nb::arg("scope"), nb::arg("expected").none() = nb::none(), Free())
      .def(
          "load_combined",
          [](SavedFiles& self, const std::string& file, const std::vector<std::string>& names,
             Scope& scope,
             const Block* expected) { load_combined(self, file, names, scope, expected); },
          nb::arg("file"), nb::arg("names"), nb::arg("scope"),
          nb::arg("expected").none() = nb::none(), Free());
}

void bind_model_io(nb::module_& m) {
  bind_saves(m);
  const auto to_bytes = [](const std::string& s) { return nb::bytes(s.data(), s.size()); };
  m.def(
      "serialize_vars",
      [to_bytes](const std::vector<std::string>& names, Scope& scope) {
        return to_bytes(serialize_vars(names, scope));
      },
      nb::arg("names"), nb::arg("scope"));
  m.def(
      "deserialize_vars",
      [](nb::bytes bytes, const std::vector<std::string>& names, Scope& scope,
         const Block* expected) {
        deserialize_vars(std::string_view(bytes.c_str(), bytes.size()), "the given bytes", names,
                         scope, expected);
      },
      nb::arg("bytes"), nb::arg("names"), nb::arg("scope"),
      nb::arg("expected").none() = nb::none());
  m.def("persistable_names", &persistable_names, nb::arg("program"));
  m.def("parameter_names", &parameter_names, nb::arg("program"));
  m.def("inference_program", &inference_program, nb::arg("program"), nb::arg("feeds"),
        nb::arg("targets"), nb::arg("source_lines") = false);
  m.def("feed_names", &feed_names, nb::arg("program"));
  m.def("fetch_names", &fetch_names, nb::arg("program"));
  m.def(
      "write_file",
      [](const std::string& file, nb::bytes bytes) {
        write_file(file, std::string_view(bytes.c_str(), bytes.size()));
      },
      nb::arg("file"), nb::arg("bytes"), "Whole or not at all.");
  m.def(
      "read_program", [](const std::string& file) { return read_program(file); }, nb::arg("file"),
      "The program of a .pdmodel or __model__ file.");
  m.def(
      "read_file", [to_bytes](const std::string& file) { return to_bytes(read_file(file)); },
      nb::arg("file"));
}

}  // namespace

void refuse_in_worker() {
  require(worker_id < 0,
          "worker {} of a DataLoader cannot run programs: its process only makes samples, with "
          "Python and numpy; run them in the process that made the loader",
          worker_id.load());
}

void refuse_after_fork() {
  refuse_in_worker();
  require(
      !threads_lost,
      "this process was forked after a program had run, and the threads of that run do not exist "
      "in it; start it with multiprocessing's \"spawn\" method, or fork before the first run");
  threads_started.store(true, std::memory_order_relaxed);
}

void bind_runtime(nb::module_& m) {
  watch_forks();
  bind_scope(m);
  bind_executor(m);
  bind_model_io(m);
  bind_predictor(m);
  bind_gpu(m);
  m.def(
      "enter_worker", [](int id) { worker_id = id; }, nb::arg("id"),
      "Says that this process is a worker of a loader: it runs no programs from now on.");
  m.def("set_threads", [](int n) { set_threads(n); });
  m.def(
      "set_check_numbers", [](bool on) { check_numbers() = on; }, nb::arg("on"),
      "Whether every step of a run looks for values that are not finite.");
  m.def("threads", [] { return threads(); });
  m.def("memory_use", [] {
    const MemoryUse use = memory_use();
    return std::make_pair(use.live, use.peak);
  });
  m.def(
      "dataset_limit",
      [] {
        constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
        return env::number_or("FLT_DATASET_LIMIT", kMost, 1, kMost);
      },
      "How many samples of a data set are used at most.");
  m.def("env_flag", &env::flag_or, nb::arg("name"), nb::arg("otherwise"),
        "Whether an environment variable says 1, true, on or yes.");
}

}  // namespace flotilla::python
