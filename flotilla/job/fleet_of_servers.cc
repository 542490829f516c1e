#include "flotilla/job/fleet_of_servers.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/job/away_exchange.h"
#include "flotilla/job/fleet_parts.h"
#include "flotilla/job/stop_signals.h"
#include "flotilla/job/table_files.h"
#include "flotilla/runtime/model_io.h"

namespace flotilla::job {

Membership& FleetOfServers::membership_with_servers(const fleet::Role& role) {
  Membership* const found = membership(role);
  require(found != nullptr, "{} is not connected to the store of its job", role.text());
  return *found;
}

// ---- Servers ------------------------------------------------------------------------------------

void FleetOfServers::init_server(const fleet::Role& role, const std::string& checkpoint) {
  Membership& membership = membership_with_servers(role);
  Parts& parts = here();
  parts.server = nullptr;  // its folder must be free
  TableServerOptions options = table_server_options(role);
  if (options_.while_waiting) {
    options.stop = [this] {
      options_.while_waiting();
      return false;
    };
  }
  parts.server = std::make_unique<TableServer>(membership, std::move(options));
  if (!checkpoint.empty()) parts.server->load(checkpoint);
}

std::string FleetOfServers::serve() {
  Parts& parts = here();
  require(parts.server != nullptr, "this process keeps no tables: call fleet.init_server() first");
  // Whoever is asked meanwhile has an ear for Ctrl-C.
  const StopSignals signals(options_.while_waiting ? std::initializer_list<int>{SIGTERM}
                                                   : std::initializer_list<int>{SIGTERM, SIGINT});
  std::string why = parts.server->run([&] {
    if (options_.while_waiting) options_.while_waiting();
    if (signals.seen() != 0) parts.server->stop();
  });
  Membership& membership = parts.server->membership();
  parts.server = nullptr;
  if (const int signal = signals.seen(); signal != 0) membership.end_store(signal);
  return why;
}

void FleetOfServers::serve_as(const fleet::Role& role) {
  init_server(role);
  const std::string why = serve();
  if (!why.empty()) throw Error(ErrorKind::kUnavailable, why);
}

int FleetOfServers::run_server(const std::string& checkpoint) {
  init_server(role(), checkpoint);
  const std::string why = serve();
  if (!why.empty()) log::warning("the job stopped: {}", why);
  return why.empty() ? 0 : 1;
}

// ---- Workers of servers -------------------------------------------------------------------------

void FleetOfServers::begin_worker(const fleet::Role& role) {
  if (has_tables()) return;
  Membership& membership = membership_with_servers(role);
  Parts& parts = here();
  const auto check = [&parts] {
    if (parts.gave_up) throw Error(ErrorKind::kUnavailable, "it was interrupted");
  };
  parts.tables = std::make_unique<TableWorker>(
      membership,
      TableWorker::Options{.role = role, .progress = &progress(), .while_waiting = check});
}

void FleetOfServers::give_up() {
  here().gave_up = true;
  tables().client().abort("it was interrupted");
}

void FleetOfServers::wait_for_servers(const std::function<void()>& work) {
  options_.listening ? options_.listening(*this, work) : work();
}

bool FleetOfServers::connected() const {
  const Parts& parts = here();
  return parts.tables != nullptr && parts.tables->connected();
}

bool FleetOfServers::has_tables() const { return here().tables != nullptr; }

TableWorker& FleetOfServers::tables() {
  Parts& parts = here();
  require(parts.tables != nullptr,
          "this process is no worker of a job with parameter servers: call fleet.init() first");
  return *parts.tables;
}

ps::Worker* FleetOfServers::servers() const {
  const Parts& parts = here();
  if (parts.tables != nullptr) return parts.tables->worker();
  return parts.opened == nullptr ? nullptr : &parts.opened->worker();
}

// A job without servers has nothing to connect to.
void FleetOfServers::init_worker(Scope& scope) {
  if (!has_tables() && role().servers() == 0) return;
  tables().connect(scope);
  here().home = &scope;
}

bool FleetOfServers::trains_in(const Scope& scope) const { return here().home == &scope; }

void FleetOfServers::stop_worker() {
  if (has_tables()) tables().stop();
}

Exchange& FleetOfServers::exchange() {
  Parts& parts = here();
  const auto all = [this]() -> Exchange& {
    comm::World* const world = met();
    return (world != nullptr ? *world : meet(fleet::role_from_environment(false))).exchange();
  };
  if (parts.tables == nullptr) return all();
  if (parts.exchange != nullptr) return *parts.exchange;
  if (const int64_t attempt = parts.membership->self().attempt; attempt > 0) {
    log::warning("worker {} was started again: it reads and shuffles its own records alone",
                 role().index);
    parts.exchange = std::make_unique<Alone>();
  } else {
    parts.exchange = std::make_unique<AwayExchange>(*parts.tables, role(), all);
  }
  return *parts.exchange;
}

bool lacks_rows(const passes::ServerTable& table, Scope& scope) {
  const Tensor* const rows = scope.find(table.name);
  return rows == nullptr || !rows->defined() || rows->shape()[0] == 0;
}

// ---- Files --------------------------------------------------------------------------------------

void FleetOfServers::save_persistables(const std::string& directory, const Program& program,
                                       Scope& scope, int64_t mode) {
  tables().take_dense(scope);
  std::vector<std::string> names = persistable_names(program);
  for (const passes::ServerTable& table : tables().tables()) {
    if (table.sparse) std::erase(names, table.name);
  }
  SaveSet save(directory);
  add_vars(save, names, scope);
  tables().write(save, mode);
  save.commit();
  tables().saved(mode);
}

void FleetOfServers::save_inference_model(const std::string& prefix, const Program& program,
                                          const std::vector<std::string>& feeds,
                                          const std::vector<std::string>& targets, Scope& scope) {
  if (!tables().connected()) tables().take_dense(scope);  // refuses that
  const std::shared_ptr<Program> model = inference_program(program, feeds, targets);
  passes::look_up_here(*model);
  const Values values = values_of(persistable_names(*model), scope, model.get());
  write_inference_model(prefix, *model, values.scope != nullptr ? *values.scope : scope);
}

void FleetOfServers::load_model(const std::string& directory, Scope& scope,
                                std::optional<uint32_t> table) {
  if (table || has_tables()) {
    if (!tables().connected()) init_worker(scope);
    return tables().load(directory, scope, table.value_or(ps::kAllTables));
  }
  Parts& parts = here();
  require(parts.server != nullptr, "this process keeps no tables: call fleet.init_server() first");
  parts.server->load(directory);
}

int64_t FleetOfServers::shrink(uint32_t max_unseen) { return tables().shrink(max_unseen); }

std::vector<std::string> tables_asked(const Program& program) {
  std::vector<std::string> names;
  for (const auto& op : program.global_block().ops()) {
    if (op->type() != "distributed_lookup_table") continue;
    for (const std::string& name : op->input_list("W")) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

void FleetOfServers::open_tables(const std::string& directory, const Program& program,
                                 Scope& scope) {
  for (const std::string& name : tables_asked(program)) {
    scope.var(name) = Tensor(f32, Shape{0, program.global_block().var(name).shape[1]});
  }
  if (has_tables()) return;
  Parts& parts = here();
  const std::string from = tables_in(std::filesystem::absolute(directory));
  require(parts.opened == nullptr || parts.opened_from == from,
          "this process looks rows up in the tables in {}, and can do so in those of one model: "
          "load {} in another process",
          parts.opened_from, from);
  parts.opened = nullptr;  // it may be large
  parts.opened = std::make_unique<LocalTables>(from);
  parts.opened_from = from;
}

bool FleetOfServers::keeps(const std::vector<std::string>& names, bool sparse) const {
  if (!connected()) return false;
  const auto among = [&](const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  return std::ranges::any_of(here().tables->tables(), [&](const passes::ServerTable& table) {
    return sparse ? table.sparse && among(table.name) : std::ranges::any_of(table.params, among);
  });
}

void FleetOfServers::add_tables(SaveSet& save, const std::vector<std::string>& names, bool sparse) {
  if (keeps(names, sparse)) tables().write(save);
}

FleetOfServers::Values FleetOfServers::values_of(std::vector<std::string> names, Scope& scope,
                                                 Program* program, bool leave_out) {
  Values values = {.names = std::move(names)};
  if (!connected()) return values;
  const bool home = trains_in(scope);
  std::vector<const passes::ServerTable*> lacking;
  for (const passes::ServerTable& table : tables().tables()) {
    const bool asked = std::ranges::find(values.names, table.name) != values.names.end();
    if (table.sparse && asked && (home || lacks_rows(table, scope))) lacking.push_back(&table);
  }
  // Once this worker has left its servers, the scope has what they had then.
  const bool dense = home && !tables().stopped() && keeps(values.names, /*sparse=*/false);
  if (dense || !lacking.empty()) tables().take_dense(scope);
  if (lacking.empty()) return values;
  values.scope = std::make_shared<Scope>(&scope);
  for (const passes::ServerTable* table : lacking) {
    try {
      Tensor rows = tables().read_rows(*table);
      if (program != nullptr) program->global_block().var(table->name).shape = rows.shape();
      values.scope->var(table->name) = std::move(rows);
    } catch (const Error& error) {
      if (!leave_out || error.kind() != ErrorKind::kInvalidArgument) throw;
      values.left_out.push_back(
          fmt::format("{} is not saved as a file: {}", table->name, error.what()));
      std::erase(values.names, table->name);
    }
  }
  return values;
}

void FleetOfServers::look_up_on_servers(Program& program,
                                        const std::optional<std::vector<std::string>>& names) {
  std::vector<passes::ServerTable> chosen = tables().tables();
  std::erase_if(chosen, [&](const passes::ServerTable& table) {
    return names && std::ranges::find(*names, table.name) == names->end();
  });
  passes::look_up_on_servers(program, chosen);
}

void FleetOfServers::look_up_here(Program& program) {
  if (connected()) passes::look_up_here(program);
}

}  // namespace flotilla::job
