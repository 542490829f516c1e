#include "flotilla/job/fleet.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/job/fleet_parts.h"
#include "flotilla/passes/strategy_support.h"
#include "flotilla/runtime/same_parameters.h"
#include "flotilla/runtime/schedule.h"

namespace flotilla::job {
namespace {

// Programs that are remembered: a process runs a few.
constexpr size_t kMostPrograms = 64;

// As the program updates its parameters with it in this scope.
std::string learning_rate_of(const Program& program, Scope& scope) {
  for (const auto& block : program.blocks()) {
    for (const auto& op : block->ops()) {
      for (const std::string& name : op->input_list("LearningRate")) {
        const Tensor* const rate = scope.find(name);
        if (rate == nullptr || !rate->defined() || rate->dtype() != f32) continue;
        return fmt::format("{:g}", rate->data<float>()[0]);
      }
    }
  }
  return "the program's own";
}

// As glog writes it.
void say_as_paddle(const std::string& line) {
  const auto now = std::chrono::system_clock::now();
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch());
  fmt::print(stderr, "W{:%m%d %H:%M:%S}.{:06} {} fuse_all_reduce.cc] {}\n",
             fmt::localtime(std::chrono::system_clock::to_time_t(now)), micro.count() % 1000000,
             getpid(), line);
}

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

// What belongs around the backward pass; 1.8 has nothing of it for servers.
passes::DistributedStrategy strategy_around_backward(const Fleet::Strategy& strategy) {
  return std::visit(
      Overloaded{[](const passes::DistributedStrategy& of) { return of; },
                 [](const passes::FluidStrategy& of) { return passes::translate(of); },
                 [](const fleet::TranspilerSettings&) { return passes::DistributedStrategy(); }},
      strategy);
}

}  // namespace

// ---- Making -------------------------------------------------------------------------------------

Fleet::Minimized Fleet::minimize(layers::Optimizer& optimizer, Var& loss, const Strategy& strategy,
                                 const layers::MinimizeOptions& options) {
  Minimized minimized;
  const std::shared_ptr<Program> startup =
      options.startup != nullptr ? options.startup : layers::context().startup;
  minimized.applied =
      minimize_by([&] { minimized.params_grads = optimizer.minimize(loss, options).params_grads; },
                  loss.block->program(), *startup, role(), strategy);
  return minimized;
}

fleet::Applied Fleet::minimize_by(const std::function<void()>& minimize, Program& main,
                                  Program& startup, const fleet::Role& role,
                                  const Strategy& strategy) {
  std::vector<std::string> notices;
  {
    fleet::StrategyStages stages(role, strategy_around_backward(strategy));
    minimize();
    notices = stages.notices();
  }
  fleet::Applied applied = distribute(main, startup, role, strategy);
  applied.notices.insert(applied.notices.begin(), notices.begin(), notices.end());
  return applied;
}

fleet::Applied Fleet::distribute(Program& main, Program& startup, const fleet::Role& role,
                                 const Strategy& strategy) {
  if (role.servers() > 0) {
    if (!role.is_worker()) return {};  // a server needs no program
    begin_worker(role);
    fleet::AppliedServers made = std::visit(
        Overloaded{[&](const passes::DistributedStrategy& of) {
                     return fleet::apply_servers(main, startup, role, of);
                   },
                   [&](const fleet::TranspilerSettings& of) {
                     return fleet::apply_servers(main, startup, role, fleet::ps_options(of));
                   },
                   [](const passes::FluidStrategy&) -> fleet::AppliedServers {
                     refuse("the strategy is one of collective jobs, but this job has servers");
                   }},
        strategy);
    tables().prepare(made.options, std::move(made.tables));
    return made.applied;
  }
  if (!role.collective) return {};  // it is alone
  fleet::Applied applied = std::visit(
      Overloaded{[&](const auto& of) { return fleet::apply_collective(main, startup, role, of); },
                 [](const fleet::TranspilerSettings&) -> fleet::Applied {
                   refuse("the strategy is one of jobs with servers, but this job has none");
                 }},
      strategy);
  Parts& parts = here();
  const std::lock_guard lock(parts.programs);
  parts.unsaid.push_back(applied);
  return applied;
}

Executor::Options Fleet::executor_options(Generator* generator) {
  Executor::Options options{.generator = generator, .progress = &progress()};
  if (has_tables()) {
    options.servers = tables().worker();
  } else {
    options.world = &world();
  }
  return options;
}

// ---- Running ------------------------------------------------------------------------------------

FleetMember::Parts::Kind FleetMember::Parts::kind_of(const Program& program) {
  const std::lock_guard lock(programs);
  const auto known = kinds.find(program.id());
  if (known != kinds.end() && known->second.version == program.version()) return known->second;
  if (kinds.size() >= kMostPrograms) kinds.clear();
  Kind kind = {.version = program.version()};
  for (const auto& block : program.blocks()) {
    for (const auto& op : block->ops()) {
      const std::string& type = op->type();
      kind.updates |= op->inputs().contains("Param") && op->inputs().contains("Grad");
      kind.exchanges |= op->attr_or<int32_t>("ring_id", -1) == 0;
      kind.makes_rings |= type == "c_comm_init" && op->attr_or<int32_t>("nranks", 1) > 1;
      kind.on_servers |= type == "send" || type == "distributed_push_sparse" || type == "geo_sgd";
    }
  }
  return kinds[program.id()] = kind;
}

std::shared_ptr<const Program> Fleet::before_run(const Program& program, Scope& scope,
                                                 uint64_t id) {
  Parts& parts = here();
  join_if_launched();
  Parts::Hooks before;
  {
    const std::lock_guard lock(parts.programs);
    const auto found = parts.hooks.find(id);
    if (found != parts.hooks.end()) before = found->second;
  }
  for (const auto& [name, rate] : before.rates) {
    if (scope.find(name) == nullptr) continue;
    const auto value = static_cast<float>(rate());
    *scope.find(name) = Tensor::of<float>({&value, 1}, {1});
  }
  for (const auto& hook : before.hooks) hook(scope);
  const Parts::Kind kind = parts.kind_of(program);
  if (kind.makes_rings && parts.workers == nullptr) meet(fleet::data_role_from_environment());
  if (kind.updates) {
    std::vector<fleet::Applied> unsaid;
    std::shared_ptr<EvenLoader> loader;
    {
      const std::lock_guard lock(parts.programs);
      unsaid = std::exchange(parts.unsaid, {});
      loader = parts.last_loader.lock();
    }
    for (const fleet::Applied& applied : unsaid) say_how_it_trains(applied, program, scope);
    if (kind.exchanges && loader != nullptr) loader->feeds(program, scope);
  }
  if (kind.on_servers && parts.tables != nullptr && !parts.tables->connected()) {
    wait_for_servers([&] { init_worker(scope); });
  }
  if (!kind.on_servers && parts.tables != nullptr) return on_servers(program, scope);
  return {std::shared_ptr<void>(), &program};
}

// A clone for tests from before minimize() looks rows up that are on the servers since.
std::shared_ptr<const Program> Fleet::on_servers(const Program& program, Scope& scope) {
  Parts& parts = here();
  const auto& tables = parts.tables->tables();
  const bool asks =
      parts.tables->connected() && std::ranges::any_of(tables, [&](const auto& table) {
        return table.sparse && program.global_block().find_var(table.name) != nullptr &&
               lacks_rows(table, scope);
      });
  if (!asks) return {std::shared_ptr<void>(), &program};
  const std::lock_guard lock(parts.programs);
  if (parts.elsewhere.size() >= kMostPrograms) parts.elsewhere.clear();
  Parts::Elsewhere& kept = parts.elsewhere[program.id()];
  if (kept.copy == nullptr || kept.version != program.version()) {
    kept = {program.version(), program.clone()};
    passes::look_up_on_servers(*kept.copy, tables);
  }
  return kept.copy;
}

void Fleet::say_how_it_trains(const fleet::Applied& applied, const Program& program, Scope& scope) {
  if (!applied.fusion.empty()) say_as_paddle(applied.fusion);
  if (applied.merging.empty() || met() == nullptr || met()->rank() != 0) return;
  log::write_info(fmt::format(
      "{0} workers train one model: the global batch is {0} times that of a worker, {1}, and the "
      "learning rate is {2}, whatever their number",
      met()->size(), applied.merging, learning_rate_of(program, scope)));
}

void Fleet::compare_parameters(const Program& program, Scope& scope) {
  comm::World* const world = met();
  if (world == nullptr) return;
  const Progress::Span span(&progress(), Progress::Kind::kCommunication,
                            "compares parameters with other workers");
  flotilla::compare_parameters(*world, exchanged_parameters(program), scope);
}

FleetMember::Parts::Hooks& FleetMember::Parts::hooks_of(const Program& program) {
  std::erase_if(hooks, [](const auto& entry) { return entry.second.program.expired(); });
  Hooks& entry = hooks[program.id()];
  entry.program = program.weak_from_this();
  return entry;
}

void Fleet::on_run(const Program& program, std::function<void(Scope&)> hook) {
  Parts& parts = here();
  const std::lock_guard lock(parts.programs);
  parts.hooks_of(program).hooks.push_back(std::move(hook));
}

void Fleet::follow(const Program& program, const std::string& learning_rate,
                   std::function<double()> rate) {
  Parts& parts = here();
  const std::lock_guard lock(parts.programs);
  parts.hooks_of(program).rates[learning_rate] = std::move(rate);
}

void Fleet::copied(const Program& program, const Program& copy) {
  Parts& parts = here();
  const std::lock_guard lock(parts.programs);
  const auto found = parts.hooks.find(program.id());
  if (found == parts.hooks.end()) return;
  Parts::Hooks same = found->second;
  same.program = copy.weak_from_this();
  parts.hooks[copy.id()] = std::move(same);
}

void Fleet::serve_by(const Program& program, const fleet::Role& role) {
  on_run(program, [this, role](Scope&) { serve_as(role); });
}

// ---- Uneven data --------------------------------------------------------------------------------

std::shared_ptr<EvenLoader> Fleet::even_loader() {
  return std::make_shared<EvenLoader>(world(), &progress(), options_.print);
}

Executor::Next Fleet::next_batch(const std::shared_ptr<EvenLoader>& loader, bool has_batch) {
  const Executor::Next next = loader->next(has_batch);
  Parts& parts = here();
  const std::lock_guard lock(parts.programs);
  if (next != Executor::Next::kEnd) parts.last_loader = loader;
  return next;
}

void Fleet::init(fleet::Role role) {
  join(role);
  if (role.servers() == 0) {
    meet(role);
  } else if (role.is_worker()) {
    begin_worker(role);
  }
  role_ = std::move(role);
}

void Fleet::barrier_worker() {
  if (role().servers() > 0) return tables().barrier();
  comm::World& world = this->world();
  const Progress::Span span(&progress(), Progress::Kind::kBarrier, "waits for other workers");
  world.queue().run([&] { world.ring(0).barrier(); });
}

std::string Fleet::trains_alone(const Program& program) {
  Parts& parts = here();
  if (parts.said_alone || !parts.kind_of(program).updates) return "";
  const bool met = parts.workers != nullptr && parts.workers->world().size() > 1;
  if (met && !collective_schedule(program).empty()) return "";
  // A program that a worker has started belongs to no job of its own.
  if (env::text("FLT_STORE") && !joined()) return "";
  fleet::Role role;
  try {
    role = fleet::data_role_from_environment();
  } catch (const Error&) {
    return "";  // whoever needs the variables says what is wrong with them
  }
  if (role.workers == 1 || role.servers() > 0) return "";
  parts.said_alone = true;
  progress().reach(Progress::Mark::kAlone);
  return fmt::format(
      "worker {} of {} trains a model of its own: {}", role.index, role.workers,
      met ? "its program exchanges nothing with the other workers. Let "
            "fleet.distributed_optimizer(...) minimize the loss"
          : "it has not joined the other workers. Call fleet.init(is_collective=True), and let "
            "fleet.distributed_optimizer(...) minimize the loss");
}

}  // namespace flotilla::job
