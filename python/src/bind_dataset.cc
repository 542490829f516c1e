#include <absl/synchronization/mutex.h>
#include <nanobind/stl/unique_ptr.h>

#include <chrono>
#include <thread>

#include "bind.h"
#include "bind_comm.h"
#include "bind_job.h"
#include "flotilla/base/exchange.h"
#include "flotilla/data/criteo.h"
#include "flotilla/data/csv.h"
#include "flotilla/data/file_dataset.h"
#include "flotilla/data/ins_id.h"
#include "flotilla/kernel/random.h"
#include "flotilla/runtime/dataset_run.h"
#include "gil.h"
#include "interruptibly.h"
#include "interrupts.h"
#include "running.h"

namespace flotilla::python {
namespace {

using data::FileDataset;
using data::InMemoryDataset;
using data::QueueDataset;
using data::RecordParser;
using data::SlotSpec;

SlotSpec spec_of(nb::handle var) {
  SlotSpec spec{.name = nb::cast<std::string>(var.attr("name")),
                .dtype = to_dtype(var.attr("dtype")),
                .shape = {},
                .lod_level = nb::cast<int64_t>(var.attr("lod_level"))};
  const Shape shape = to_shape(var.attr("shape"));
  require(shape.rank() > 0, "variable \"{}\" has no extent for the batch: its shape is []",
          spec.name);
  // A batch comes first, whether it was declared or not.
  for (int64_t a = 1; a < shape.rank(); ++a) spec.shape.push_back(shape[a]);
  return spec;
}

std::vector<SlotSpec> specs_of(nb::list vars) {
  std::vector<SlotSpec> specs;
  for (nb::handle var : vars) specs.push_back(spec_of(var));
  if (!specs.empty()) data::check_specs(specs);
  return specs;
}

template <typename T>
T option(nb::dict options, const char* name, T otherwise) {
  if (!options.contains(name)) return otherwise;
  T value = nb::cast<T>(options[name]);
  nb::del(options[name]);
  return value;
}

data::CsvOptions csv_options(nb::dict options) {
  data::CsvOptions made;
  const auto delimiter = option<std::string>(options, "delimiter", ",");
  require(delimiter.size() == 1, "the delimiter of a table must be one character, but is \"{}\"",
          delimiter);
  made.delimiter = delimiter.front();
  made.header = option(options, "header", made.header);
  made.columns = option(options, "columns", made.columns);
  made.allow_empty = option(options, "allow_empty", made.allow_empty);
  made.empty_value = option(options, "empty_value", made.empty_value);
  return made;
}

void set_parser(FileDataset& set, const std::string& name, nb::dict given) {
  const nb::dict options = nb::cast<nb::dict>(given.attr("copy")());
  if (name == "criteo") {
    data::CriteoOptions criteo;
    criteo.hash_dim = option(options, "hash_dim", criteo.hash_dim);
    set.options.parser = [criteo](const std::vector<SlotSpec>& slots) {
      return data::criteo_parser(slots, criteo);
    };
  } else if (name == "csv") {
    set.options.parser = [csv = csv_options(options)](const std::vector<SlotSpec>& slots) {
      return data::csv_parser(slots, csv);
    };
  } else {
    require(name == "multi_slot",
            "the parser must be \"multi_slot\", \"criteo\" or \"csv\", but is \"{}\"", name);
    const auto leading = option<int64_t>(options, "leading_texts", 0);
    set.options.parser = [leading](const std::vector<SlotSpec>& slots) {
      return data::after_texts(data::multi_slot_parser(slots), leading);
    };
  }
  for (auto [key, value] : options) {
    refuse("the parser \"{}\" has no option \"{}\"", name, nb::cast<std::string>(nb::str(key)));
  }
}

void bind_sets(nb::module_& m, Progress& progress) {
  using data::FileDatasetOptions;
  const auto rw = [](auto FileDatasetOptions::*member) {
    return std::make_pair(
        [member](const FileDataset& set) { return set.options.*member; },
        [member](FileDataset& set, std::decay_t<decltype(FileDatasetOptions().*member)> value) {
          set.options.*member = std::move(value);
        });
  };
  const auto [files, set_files] = rw(&FileDatasetOptions::files);
  const auto [batch_size, set_batch_size] = rw(&FileDatasetOptions::batch_size);
  const auto [threads, set_threads] = rw(&FileDatasetOptions::threads);
  const auto [command, set_command] = rw(&FileDatasetOptions::pipe_command);
  const auto [folder, set_folder] = rw(&FileDatasetOptions::command_folder);
  const auto [max_bad, set_max_bad] = rw(&FileDatasetOptions::max_bad_records);
  nb::class_<FileDataset>(m, "FileDataset", "A list of files with records of slots.")
      .def_prop_rw("files", files, set_files)
      .def_prop_rw("batch_size", batch_size, set_batch_size)
      .def_prop_rw("threads", threads, set_threads)
      .def_prop_rw("pipe_command", command, set_command)
      .def_prop_rw("command_folder", folder, set_folder)
      .def_prop_rw("max_bad_records", max_bad, set_max_bad)
      .def_prop_ro("bad_records", &FileDataset::bad_records)
      .def("set_slots", [](FileDataset& set, nb::list vars) { set.options.slots = specs_of(vars); })
      .def("set_parser", &set_parser, nb::arg("name"), nb::arg("options"))
      .def(
          "start",
          [](FileDataset& set, int64_t threads) {
            refuse_in_worker();
            const GilReleased released;
            return set.start(threads);
          },
          nb::arg("threads") = 0, "Begins a pass.");
  nb::class_<QueueDataset, FileDataset>(m, "QueueDataset").def(nb::init<>());
  nb::class_<InMemoryDataset, FileDataset>(m, "InMemoryDataset")
      .def(nb::init<>())
      .def("load_into_memory",
           [](InMemoryDataset& set) {
             std::atomic<bool> stop = false;
             interruptibly([&] { stop = true; }, [&] { set.load_into_memory(&stop); });
           })
      .def("preload_into_memory", &InMemoryDataset::preload_into_memory, nb::arg("threads") = 0)
      .def("wait_preload_done",
           [](InMemoryDataset& set) {
             while (!set.preload_done()) {
               const GilReleased released;
               std::this_thread::sleep_for(std::chrono::milliseconds(2));
               listen();
             }
             set.wait_preload_done();
           })
      .def("local_shuffle", &InMemoryDataset::local_shuffle, nb::arg("seed"),
           nb::call_guard<GilReleased>())
      .def("global_shuffle", &InMemoryDataset::global_shuffle, nb::arg("exchange"), nb::arg("seed"),
           nb::call_guard<InterruptibleRelease>())
      .def("slots_shuffle", &InMemoryDataset::slots_shuffle, nb::arg("slots"), nb::arg("seed"),
           nb::call_guard<GilReleased>())
      .def("release_memory", &InMemoryDataset::release_memory, nb::call_guard<GilReleased>())
      .def("memory_data_size", &InMemoryDataset::memory_data_size)
      .def("shuffle_data_size", &InMemoryDataset::shuffle_data_size);

  nb::class_<data::BatchPass>(m, "BatchPass", "The batches of one pass, read ahead.")
      .def(
          "next",
          [&progress](data::BatchPass& pass) -> nb::object {
            std::optional<data::Batch> batch;
            {
              const GilReleased released;
              const Progress::Span span(&progress, Progress::Kind::kInput, kWaitsForBatch);
              wait_for_batch(pass);
              batch = pass.next();
            }
            if (!batch.has_value()) return nb::none();
            nb::list tensors;
            for (Tensor& tensor : *batch) tensors.append(nb::cast(std::move(tensor)));
            return tensors;
          },
          "A tensor for each variable; None at the end.")
      .def("cancel", &data::BatchPass::cancel);
}

void bind_exchange(nb::module_& m) {
  nb::class_<Exchange>(m, "Exchange", "Agrees on values with the other processes of a job.")
      .def_prop_ro("rank", &Exchange::rank)
      .def_prop_ro("size", &Exchange::size)
      .def(
          "sum_of", [](Exchange& exchange, int64_t number) { return sum_of(exchange, number); },
          nb::arg("number"), nb::call_guard<InterruptibleRelease>());
  nb::class_<Alone, Exchange>(m, "Alone", "The group of one.").def(nb::init<>());
}

// An executor for data sets: it keeps its plans from pass to pass.
struct DatasetRunner {
  DatasetRunner(Generator& generator, job::Fleet& with) : fleet(with), executor(generator, with) {}

  job::Fleet& fleet;
  absl::Mutex turn;
  WorkersExecutor executor ABSL_GUARDED_BY(turn);
};

struct Shown {
  std::vector<std::string> fetches = {};
  std::vector<std::string> labels = {};
  int64_t print_period = 100;
  std::vector<std::string> watched = {};
  double watch_seconds = 60;
};

nb::object watched_value(const FetchedValue& value) {
  const auto* rows = std::get_if<SelectedRows>(&value);
  return to_numpy(rows == nullptr ? std::get<Tensor>(value) : rows->value);
}

int64_t run(DatasetRunner& runner, const Program& given, FileDataset& set, Scope& scope,
            int64_t threads, bool debug, bool infer, const Shown& shown, nb::callable print,
            nb::callable watch) {
  // Another thread may go on building the program.
  const std::shared_ptr<const Program> snapshot = given.clone();
  std::shared_ptr<const Program> program;
  {
    const InterruptibleRelease released;
    program = runner.fleet.before_run(*snapshot, scope, given.id());
  }
  refuse_after_fork();
  if (infer) program = without_updates(*program);
  warn_if_alone(runner.fleet, *program);
  std::vector<std::string> feeds;
  for (const SlotSpec& slot : set.options.slots) feeds.push_back(slot.name);
  const auto say = [&](const std::string& line) {
    const GilHeld gil;
    unless_the_end([&] { print(line); });
  };
  const auto show = [&](const std::vector<FetchedValue>& values) {
    const GilHeld gil;
    nb::list list;
    for (const FetchedValue& value : values) list.append(watched_value(value));
    unless_the_end([&] { watch(list); });
  };
  const InterruptibleRelease released;
  const Running running;
  require(runner.turn.TryLock(),
          "this executor is already running a data set; a second run needs its own executor");
  struct Unlock {
    absl::Mutex& turn;
    ~Unlock() { turn.Unlock(); }
  } const unlock{runner.turn};
  const std::unique_ptr<data::BatchPass> pass = set.start(threads);
  const DatasetRunReport report = run_from_dataset({.program = *program,
                                                    .feeds = feeds,
                                                    .fetches = shown.fetches,
                                                    .labels = shown.labels,
                                                    .print_period = shown.print_period,
                                                    .watched = shown.watched,
                                                    .watch_seconds = shown.watch_seconds,
                                                    .watch = show,
                                                    .threads = set.useful_threads(threads),
                                                    .debug = debug,
                                                    .print = say,
                                                    .tick = listen},
                                                   *pass, runner.executor.get(), scope);
  return report.batches();
}

void bind_runner(nb::module_& m) {
  nb::class_<Shown>(m, "ShownValues", "What a run prints, and what it hands to a watcher.")
      .def(nb::init<>())
      .def_rw("fetches", &Shown::fetches)
      .def_rw("labels", &Shown::labels)
      .def_rw("print_period", &Shown::print_period)
      .def_rw("watched", &Shown::watched)
      .def_rw("watch_seconds", &Shown::watch_seconds);
  nb::class_<DatasetRunner>(m, "DatasetRunner", "Runs programs over the batches of data sets.")
      .def(nb::init<Generator&, job::Fleet&>(), nb::arg("generator"), nb::arg("fleet"),
           nb::keep_alive<1, 2>())
      .def("run", &run, nb::arg("program"), nb::arg("dataset"), nb::arg("scope"),
           nb::arg("threads"), nb::arg("debug"), nb::arg("infer"), nb::arg("shown"),
           nb::arg("print"), nb::arg("watch"), "Returns how many batches were run.");
}

}  // namespace

void bind_dataset(nb::module_& m, Progress& progress) {
  bind_sets(m, progress);
  bind_exchange(m);
  bind_runner(m);
}

}  // namespace flotilla::python
