#include "bind_servers.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>

#include "bind.h"
#include "bind_job.h"
#include "flotilla/base/error.h"
#include "flotilla/fleet/servers.h"
#include "flotilla/job/local_tables.h"
#include "flotilla/job/stop_signals.h"
#include "flotilla/job/table_files.h"
#include "flotilla/job/table_server.h"
#include "flotilla/job/table_worker.h"
#include "flotilla/passes/ps_split.h"
#include "gil.h"
#include "interruptibly.h"
#include "running.h"

namespace flotilla::python {
namespace {

namespace fs = std::filesystem;

// Of this process; at most one of them. Never destroyed but by leave().
struct Place {
  std::unique_ptr<job::TableServer> server = nullptr;
  std::unique_ptr<job::TableWorker> worker = nullptr;
  std::unique_ptr<job::LocalTables> opened = nullptr;  // in a process that is neither
  std::string opened_from = {};
};

Place& place() {
  static Place* made = new Place;
  static pid_t owner = getpid();
  if (owner != getpid()) {
    // What a fork has a copy of belongs to its parent, and is left alone.
    made = new Place;
    owner = getpid();
  }
  return *made;
}

job::TableServer& server() {
  require(place().server != nullptr,
          "this process keeps no tables: call fleet.init_server() first");
  return *place().server;
}

job::TableWorker& worker() {
  require(place().worker != nullptr,
          "this process is no worker of a job with parameter servers: call fleet.init() first");
  return *place().worker;
}

job::Membership& membership_for(const fleet::Role& role) {
  job::Membership* membership = join_job(role);
  require(membership != nullptr, "{} is not connected to the store of its job", role.text());
  return *membership;
}

// Ctrl-C was pressed while this process waited for others.
std::atomic<bool> interrupted = false;

// Runs f, which waits for other processes, until it is done or Ctrl-C is pressed: then nothing more
// can be asked of the servers.
template <typename F>
void wait_for_others(F f) {
  job::TableWorker& self = worker();
  const auto stop = [&] {
    interrupted = true;
    self.client().abort("it was interrupted");
  };
  interruptibly(stop, f);
}

void check_interrupted() {
  if (interrupted) throw Error(ErrorKind::kUnavailable, "it was interrupted");
}

const passes::ServerTable& table_named(const std::string& name) {
  for (const passes::ServerTable& table : worker().tables()) {
    if (table.name == name) return table;
  }
  refuse("the servers have no table \"{}\"", name);
}

void bind_server(nb::module_& m) {
  m.def(
      "init_server",
      [](const fleet::Role& role, const std::string& checkpoint) {
        job::Membership& membership = membership_for(role);
        const GilReleased released;
        place().server = nullptr;  // its folder must be free
        job::TableServerOptions options = job::table_server_options(role);
        options.stop = [] {
          listen();
          return false;
        };
        place().server = std::make_unique<job::TableServer>(membership, std::move(options));
        if (!checkpoint.empty()) place().server->load(checkpoint);
      },
      nb::arg("role"), nb::arg("checkpoint"), "Makes the tables that this server will keep.");
  m.def(
      "load_server",
      [](const std::string& checkpoint) {
        const GilReleased released;
        server().load(checkpoint);
      },
      nb::arg("checkpoint"), "Fills the tables of this server.");
  m.def(
      "run_server",
      [] {
        job::TableServer& self = server();
        std::string why;
        {
          const GilReleased released;
          const job::StopSignals signals({SIGTERM});
          why = self.run([&] {
            listen();
            if (signals.seen() != 0) self.stop();
          });
          job::Membership& membership = self.membership();
          place().server = nullptr;
          if (const int signal = signals.seen(); signal != 0) membership.end_store(signal);
        }
        if (!why.empty()) throw Error(ErrorKind::kUnavailable, why);
      },
      "Serves until all workers have left.");
}

void bind_worker(nb::module_& m) {
  m.def(
      "begin_worker",
      [](const fleet::Role& role) {
        if (place().worker != nullptr) return;
        job::Membership& membership = membership_for(role);
        const GilReleased released;
        place().worker = std::make_unique<job::TableWorker>(
            membership,
            job::TableWorker::Options{
                .role = role, .progress = progress(), .while_waiting = check_interrupted});
      },
      nb::arg("role"),
      "Tells the other processes of a job with servers that this worker is there.");
  m.def("is_worker_of_servers", [] { return place().worker != nullptr; });
  m.def(
      "can_connect_servers", [](Scope& scope) { return worker().can_connect(scope); },
      nb::arg("scope"), "Whether the scope has the values that connect_servers() needs.");
  m.def(
      "connect_servers", [](Scope& scope) { wait_for_others([&] { worker().connect(scope); }); },
      nb::arg("scope"),
      "Waits for the servers; worker 0 gives them the first values, the others take them.");
  m.def("servers_connected", [] { return place().worker != nullptr && worker().connected(); });
  m.def(
      "take_dense", [](Scope& scope) { wait_for_others([&] { worker().take_dense(scope); }); },
      nb::arg("scope"), "Writes the parameters as the servers have them to the scope.");
  m.def(
      "barrier_of_servers", [] { wait_for_others([] { worker().barrier(); }); },
      "Waits for the other workers, while rounds go on without this one.");
  m.def(
      "gather_of_servers",
      [](nb::bytes mine) {
        const std::string bytes(mine.c_str(), mine.size());
        std::vector<std::optional<std::string>> all;
        wait_for_others([&] { all = worker().gather(bytes); });
        nb::list list;
        for (const auto& one : all) {
          if (one) list.append(nb::bytes(one->data(), one->size()));
        }
        return list;
      },
      nb::arg("mine"), "What every worker gives, in the order of ranks.");
  m.def(
      "leave_servers",
      [] {
        if (place().worker != nullptr) wait_for_others([] { worker().stop(); });
      },
      "Returns when all that was pushed is applied.");
}

void bind_tables(nb::module_& m) {
  m.def(
      "server_tables",
      [] {
        nb::list tables;
        for (const passes::ServerTable& table : worker().tables()) {
          nb::dict one;
          one["id"] = table.id;
          one["name"] = table.name;
          one["sparse"] = table.sparse;
          one["params"] = table.params;
          one["rows"] = table.rows;
          one["width"] = table.width;
          tables.append(one);
        }
        return tables;
      },
      "The tables of this worker's program.");
  m.def(
      "save_tables",
      [](const std::string& folder, int64_t mode, std::optional<uint32_t> table) {
        wait_for_others([&] { worker().save(folder, mode, table.value_or(ps::kAllTables)); });
      },
      nb::arg("folder"), nb::arg("mode") = 0, nb::arg("table").none() = nb::none(),
      "Lets the servers write all tables, or one.");
  m.def(
      "add_tables",
      [](SaveSet& save, int64_t mode) { wait_for_others([&] { worker().write(save, mode); }); },
      nb::arg("save"), nb::arg("mode") = 0,
      "Lets the servers write all tables as a part of a save.");
  m.def(
      "tables_saved", [](int64_t mode) { wait_for_others([&] { worker().saved(mode); }); },
      nb::arg("mode"), "Tells the servers that the save they took part in is done.");
  m.def(
      "load_tables",
      [](const std::string& folder, std::optional<uint32_t> table, Scope& scope) {
        wait_for_others([&] { worker().load(folder, scope, table.value_or(ps::kAllTables)); });
      },
      nb::arg("folder"), nb::arg("table").none(), nb::arg("scope"),
      "Lets the servers fill their tables, or one; the scope gets the values that workers hold.");
  m.def(
      "open_tables",
      [](const std::string& folder) {
        Place& here = place();
        const std::string from = job::tables_in(fs::absolute(folder));
        require(here.opened == nullptr || here.opened_from == from,
                "this process looks rows up in the tables in {}, and can do so in those of one "
                "model: load {} in another process",
                here.opened_from, from);
        const GilReleased released;
        here.opened = nullptr;  // it may be large
        here.opened = std::make_unique<job::LocalTables>(from);
        here.opened_from = from;
      },
      nb::arg("folder"), "Lets programs look rows up in what servers saved, within this process.");
  m.def(
      "shrink_tables",
      [](uint32_t max_unseen) {
        int64_t gone = 0;
        wait_for_others([&] { gone = worker().shrink(max_unseen); });
        return gone;
      },
      nb::arg("max_unseen"), "How many rows went.");
  m.def(
      "bring_table",
      [](const std::string& name, Program& program, Scope& scope) {
        const passes::ServerTable& table = table_named(name);
        Tensor& rows = scope.var(name);
        wait_for_others([&] { rows = worker().read_rows(table); });
        program.global_block().var(name).shape = rows.shape();
      },
      nb::arg("name"), nb::arg("program"), nb::arg("scope"),
      "Writes all rows of a sparse table to a variable of the scope, and the program says how "
      "many.");
  m.def(
      "look_up_on_servers",
      [](Program& program, const std::optional<std::vector<std::string>>& names) {
        std::vector<passes::ServerTable> tables = worker().tables();
        std::erase_if(tables, [&](const passes::ServerTable& table) {
          return names && std::find(names->begin(), names->end(), table.name) == names->end();
        });
        passes::look_up_on_servers(program, tables);
      },
      nb::arg("program"), nb::arg("names").none() = nb::none(),
      "Makes lookups of the servers' tables, or of some of them, ask the servers.");
  m.def("look_up_here", &passes::look_up_here, nb::arg("program"), "The opposite.");
  m.def(
      "metrics_of_server",
      [](int server) {
        std::string text;
        wait_for_others([&] { text = worker().client().metrics(server); });
        return text;
      },
      nb::arg("server"), "Numbers of a server, as Prometheus reads them.");
}

// Makes the programs those of a worker of servers; returns what a strategy asks for and does not
// get.
template <typename Strategy>
std::vector<std::string> apply(Program& main, Program& startup, const fleet::Role& role,
                               const Strategy& strategy) {
  fleet::AppliedServers made = fleet::apply_servers(main, startup, role, strategy);
  worker().prepare(made.options, std::move(made.tables));
  return made.applied.notices;
}

void bind_apply(nb::module_& m) {
  using fleet::TranspilerSettings;
  nb::class_<TranspilerSettings>(m, "TranspilerSettings", "How 1.8 trains with servers.")
      .def(nb::init<>())
      .def_rw("sync_mode", &TranspilerSettings::sync_mode)
      .def_rw("runtime_split_send_recv", &TranspilerSettings::runtime_split_send_recv)
      .def_rw("half_async", &TranspilerSettings::half_async)
      .def_rw("completely_not_async", &TranspilerSettings::completely_not_async)
      .def_rw("geo_sgd_mode", &TranspilerSettings::geo_sgd_mode)
      .def_rw("geo_sgd_need_push_nums", &TranspilerSettings::geo_sgd_need_push_nums)
      .def_rw("communicator", &TranspilerSettings::communicator);
  m.def("apply_servers", &apply<passes::DistributedStrategy>, nb::arg("main"), nb::arg("startup"),
        nb::arg("role"), nb::arg("strategy"));
  m.def(
      "apply_servers",
      [](Program& main, Program& startup, const fleet::Role& role,
         const TranspilerSettings& settings) {
        return apply(main, startup, role, fleet::ps_options(settings));
      },
      nb::arg("main"), nb::arg("startup"), nb::arg("role"), nb::arg("strategy"));
}

// A process that fails leaves no word, so that the launcher and the servers see it as lost.
void leave(bool failed) {
  Place& here = place();
  here.server = nullptr;
  if (here.worker == nullptr) return;
  try {
    if (!failed) here.worker->stop();
  } catch (const Error&) {
    // The job stopped; who stopped it has said why.
  }
  here.worker = nullptr;
}

}  // namespace

ps::Worker* servers() {
  const Place& here = place();
  if (here.worker != nullptr) return here.worker->worker();
  return here.opened == nullptr ? nullptr : &here.opened->worker();
}

void bind_servers(nb::module_& m) {
  bind_server(m);
  bind_worker(m);
  bind_tables(m);
  bind_apply(m);
  // Runs before the process leaves its job, which was registered earlier.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    if (runs_go_on()) return;
    const bool failed = nb::hasattr(nb::module_::import_("sys"), "last_value");
    const GilReleased released;
    leave(failed);
  }));
}

}  // namespace flotilla::python
