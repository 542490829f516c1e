#include "flotilla/job/fleet.h"

#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/base/progress.h"
#include "flotilla/fleet/servers.h"
#include "flotilla/job/membership.h"
#include "flotilla/job/stop_signals.h"
#include "flotilla/job/table_server.h"
#include "flotilla/job/table_worker.h"
#include "flotilla/job/workers.h"
#include "flotilla/runtime/model_io.h"

namespace flotilla::job {

struct Fleet::Parts {
  explicit Parts(fleet::Role who)
      : role(std::move(who)), membership(Membership::join(role, &progress)) {
    if (role.servers() == 0) {
      workers.emplace(role, membership.get());
    } else if (role.is_worker()) {
      tables.emplace(*membership, TableWorker::Options{.role = role, .progress = &progress});
    }
  }

  Progress progress = {};
  const fleet::Role role;
  const std::unique_ptr<Membership> membership;
  std::optional<Workers> workers;
  std::optional<TableWorker> tables;
};

Fleet::Fleet(fleet::Role role) : parts_(std::make_unique<Parts>(std::move(role))) {
  parts_->progress.reach(Progress::Mark::kJoined);
}

Fleet::~Fleet() {
  try {
    stop_worker();
  } catch (const Error&) {
    // The job stopped; who stopped it has said why.
  }
}

const fleet::Role& Fleet::role() const { return parts_->role; }

comm::World& Fleet::world() {
  if (!parts_->workers) parts_->workers.emplace(parts_->role, parts_->membership.get());
  return parts_->workers->world();
}

fleet::Applied Fleet::distribute(Program& main, Program& startup,
                                 const passes::DistributedStrategy& strategy) {
  if (parts_->role.collective) {
    return fleet::apply_collective(main, startup, parts_->role, strategy);
  }
  if (parts_->role.servers() == 0) return {};  // it is alone
  fleet::AppliedServers made = fleet::apply_servers(main, startup, parts_->role, strategy);
  tables().prepare(made.options, std::move(made.tables));
  return made.applied;
}

Executor::Options Fleet::executor_options(Generator* generator) {
  Executor::Options options{.generator = generator, .progress = &parts_->progress};
  if (parts_->tables) {
    options.servers = parts_->tables->worker();
  } else {
    options.world = &world();
  }
  return options;
}

int Fleet::run_server(const std::string& checkpoint) {
  const StopSignals signals({SIGTERM, SIGINT});
  TableServer server(*parts_->membership, table_server_options(parts_->role));
  if (!checkpoint.empty()) server.load(checkpoint);
  const std::string why = server.run([&] {
    if (signals.seen() != 0) server.stop();
  });
  if (!why.empty()) log::warning("the job stopped: {}", why);
  return why.empty() ? 0 : 1;
}

TableWorker& Fleet::tables() {
  require(parts_->tables.has_value(), "{} is no worker of a job with parameter servers",
          parts_->role.text());
  return *parts_->tables;
}

// A job without servers has nothing to connect to.
void Fleet::init_worker(Scope& scope) {
  if (parts_->role.servers() > 0) tables().connect(scope);
}

void Fleet::save_persistables(const std::string& directory, const Program& program, Scope& scope,
                              int64_t mode) {
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

void Fleet::save_inference_model(const std::string& prefix, const Program& program,
                                 const std::vector<std::string>& feeds,
                                 const std::vector<std::string>& targets, Scope& scope) {
  tables().take_dense(scope);
  const std::shared_ptr<Program> model = inference_program(program, feeds, targets);
  passes::look_up_here(*model);
  Scope with_rows(&scope);
  for (const passes::ServerTable& table : tables().tables()) {
    Var* var = table.sparse ? model->global_block().find_var(table.name) : nullptr;
    if (var == nullptr) continue;
    Tensor& rows = with_rows.var(table.name);
    rows = tables().read_rows(table);
    var->shape = rows.shape();
  }
  write_inference_model(prefix, *model, with_rows);
}

void Fleet::load_model(const std::string& directory, Scope& scope) {
  tables().load(directory, scope);
}

int64_t Fleet::shrink(uint32_t max_unseen) { return tables().shrink(max_unseen); }

void Fleet::stop_worker() {
  if (parts_->tables) parts_->tables->stop();
}

void Fleet::barrier_worker() {
  if (parts_->tables) return parts_->tables->barrier();
  world().queue().run([this] { world().ring(0).barrier(); });
}

}  // namespace flotilla::job
