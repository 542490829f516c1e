#include "bind_job.h"
#include "flotilla/base/error.h"
#include "flotilla/base/save_set.h"
#include "flotilla/fleet/servers.h"
#include "flotilla/job/table_worker.h"
#include "gil.h"
#include "interrupts.h"

namespace flotilla::python {
namespace {

using job::Fleet;

void wait_for_others(Fleet& fleet, const std::function<void()>& work) {
  fleet.tables();  // refuses a process that has none
  wait_for_servers(fleet, work);
}

void bind_server(FleetClass& fleet) {
  fleet
      .def("init_server", &Fleet::init_server, nb::arg("role"), nb::arg("checkpoint") = "",
           nb::call_guard<InterruptibleRelease>(), "Makes the tables that this server will keep.")
      .def(
          "serve",
          [](Fleet& f) {
            const std::string why = f.serve();
            if (!why.empty()) throw Error(ErrorKind::kUnavailable, why);
          },
          nb::call_guard<GilReleased>(), "Serves until all workers have left.")
      .def("serve_as", &Fleet::serve_as, nb::arg("role"), nb::call_guard<InterruptibleRelease>(),
           "Makes the tables, and serves.");
}

void bind_worker(FleetClass& fleet) {
  fleet.def("has_tables", &Fleet::has_tables, "Whether this is a worker of servers.")
      .def(
          "init_worker",
          [](Fleet& f, Scope& scope) {
            if (!f.tables().can_connect(scope)) return;
            wait_for_others(f, [&] { f.init_worker(scope); });
          },
          nb::arg("scope"),
          "Waits for the servers; worker 0 gives them the first values, the others take them. "
          "Where "
          "the scope has none yet, the first run connects.")
      .def(
          "take_dense",
          [](Fleet& f, Scope& scope) { wait_for_others(f, [&] { f.tables().take_dense(scope); }); },
          nb::arg("scope"), "Writes the parameters as the servers have them to the scope.")
      .def(
          "barrier_worker",
          [](Fleet& f) {
            if (f.role().servers() > 0) return wait_for_others(f, [&] { f.barrier_worker(); });
            const InterruptibleRelease released;
            f.barrier_worker();
          },
          "Waits for the other workers; where there are servers, while rounds go on without this "
          "one.")
      .def(
          "gather_of_servers",
          [](Fleet& f, nb::bytes mine) {
            const std::string bytes(mine.c_str(), mine.size());
            std::vector<std::optional<std::string>> all;
            wait_for_others(f, [&] { all = f.tables().gather(bytes); });
            nb::list list;
            for (const auto& one : all) {
              if (one) list.append(nb::bytes(one->data(), one->size()));
            }
            return list;
          },
          nb::arg("mine"), "What every worker gives, in the order of ranks.")
      .def(
          "stop_worker",
          [](Fleet& f) {
            if (f.has_tables()) wait_for_others(f, [&] { f.stop_worker(); });
          },
          "Returns when all that was pushed is applied.");
}

nb::dict to_dict(const passes::ServerTable& table) {
  nb::dict one;
  one["id"] = table.id;
  one["name"] = table.name;
  one["sparse"] = table.sparse;
  one["params"] = table.params;
  one["rows"] = table.rows;
  one["width"] = table.width;
  return one;
}

void bind_tables(FleetClass& fleet) {
  fleet
      .def(
          "tables",
          [](Fleet& f) {
            nb::list tables;
            for (const passes::ServerTable& table : f.tables().tables()) {
              tables.append(to_dict(table));
            }
            return tables;
          },
          "The tables of this worker's program.")
      .def(
          "save_tables",
          [](Fleet& f, const std::string& folder, int64_t mode, std::optional<uint32_t> table) {
            wait_for_others(f,
                            [&] { f.tables().save(folder, mode, table.value_or(ps::kAllTables)); });
          },
          nb::arg("folder"), nb::arg("mode") = 0, nb::arg("table").none() = nb::none(),
          "Lets the servers write all tables, or one.")
      .def(
          "add_tables",
          [](Fleet& f, SaveSet& save, const std::vector<std::string>& names, bool sparse) {
            if (!f.connected()) return;
            wait_for_others(f, [&] { f.add_tables(save, names, sparse); });
          },
          nb::arg("save"), nb::arg("names"), nb::arg("sparse") = false,
          "Lets the servers add their tables to a save of variables, where they keep one of them.")
      .def(
          "save_persistables",
          [](Fleet& f, const std::string& folder, const Program& program, Scope& scope,
             int64_t mode) {
            wait_for_others(f, [&] { f.save_persistables(folder, program, scope, mode); });
          },
          nb::arg("folder"), nb::arg("program"), nb::arg("scope"), nb::arg("mode") = 0)
      .def(
          "load_model",
          [](Fleet& f, const std::string& folder, Scope& scope, std::optional<uint32_t> table) {
            const auto load = [&] { f.load_model(folder, scope, table); };
            if (table || f.has_tables()) return wait_for_others(f, load);
            const GilReleased released;
            load();
          },
          nb::arg("folder"), nb::arg("scope"), nb::arg("table").none() = nb::none(),
          "Lets the servers fill their tables, or one; the scope gets the values that workers "
          "hold.")
      .def("open_tables", &Fleet::open_tables, nb::arg("folder"), nb::arg("program"),
           nb::arg("scope"), nb::call_guard<GilReleased>(),
           "Lets a loaded program look rows up in what servers saved.")
      .def(
          "values_of",
          [](Fleet& f, std::vector<std::string> names, Scope& scope, Program* program,
             bool leave_out) {
            Fleet::Values values = {.names = names};
            if (f.connected()) {
              wait_for_others(f, [&] { values = f.values_of(names, scope, program, leave_out); });
            }
            return nb::make_tuple(values.names, values.scope, values.left_out);
          },
          nb::arg("names"), nb::arg("scope"), nb::arg("program").none(), nb::arg("leave_out"),
          "(names, scope, warnings): the values as the servers have them, in the scope, or in the "
          "given one where that is None.")
      .def(
          "shrink",
          [](Fleet& f, uint32_t max_unseen) {
            int64_t gone = 0;
            wait_for_others(f, [&] { gone = f.shrink(max_unseen); });
            return gone;
          },
          nb::arg("max_unseen"), "How many rows went.")
      .def("look_up_on_servers", &Fleet::look_up_on_servers, nb::arg("program"),
           nb::arg("names").none() = nb::none(),
           "Makes lookups of the servers' tables, or of some of them, ask the servers.")
      .def("look_up_here", &Fleet::look_up_here, nb::arg("program"), "The opposite.")
      .def(
          "metrics_of_server",
          [](Fleet& f, int server) {
            std::string text;
            wait_for_others(f, [&] { text = f.tables().client().metrics(server); });
            return text;
          },
          nb::arg("server"), "Numbers of a server, as Prometheus reads them.");
}

void bind_settings(nb::module_& m) {
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
}

}  // namespace

void bind_servers(nb::module_& m, FleetClass& fleet) {
  bind_server(fleet);
  bind_worker(fleet);
  bind_tables(fleet);
  bind_settings(m);
  m.def("tables_asked", &job::tables_asked, nb::arg("program"),
        "The tables that a program asks servers for.");
}

}  // namespace flotilla::python
