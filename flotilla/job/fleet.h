// flotilla/job/fleet.h
//
// The life of this process in a job, from joining to leaving: what fleet.init() is to a Python
// program, which holds one of these.
//
//   job::Fleet fleet(fleet::role_from_environment(/*collective=*/true));
//   nn::Optimizer adam = nn::adam(0.001);
//   fleet.minimize(adam, loss);
//   Session session(1, fleet);
//
// With parameter servers:
//
//   job::Fleet fleet(fleet::role_from_environment(/*collective=*/false));
//   if (fleet.role().is_server()) return fleet.run_server();
//   ... minimize, a session that runs the startup program, and training ...
//   fleet.stop_worker();
//
// Thread safety: as comm::World, but any thread may join, ask for joined(), stopped(),
// interrupted() and before_run(), and give_up(). A process that was forked from one with a fleet
// has a fleet that belongs to no job, and cannot join that of its parent.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "flotilla/fleet/pipeline.h"
#include "flotilla/fleet/servers.h"
#include "flotilla/job/fleet_of_servers.h"
#include "flotilla/layers/optimizer.h"
#include "flotilla/passes/strategy.h"
#include "flotilla/runtime/executor.h"

namespace flotilla::job {

class EvenLoader;

// The tables that a program asks servers for, of which it has no rows.
std::vector<std::string> tables_asked(const Program& program);

class Fleet : public FleetOfServers {
 public:
  // Of a process that belongs to no job yet.
  Fleet() : Fleet(Options{}) {}
  explicit Fleet(Options options) : FleetOfServers(std::move(options)) {}
  // As init() does.
  explicit Fleet(fleet::Role role) : Fleet(Options{}) { init(std::move(role)); }

  // Joins, and waits until all workers are here; with servers it says only that this process is.
  void init(fleet::Role role);
  void barrier_worker();

  // Of this era or of 1.8.
  using Strategy =
      std::variant<passes::DistributedStrategy, passes::FluidStrategy, fleet::TranspilerSettings>;
  struct Minimized {
    std::vector<ParamGrad> params_grads = {};
    fleet::Applied applied = {};
  };
  // Gradients and updates, with the passes of the strategy around them, and distribute().
  Minimized minimize(layers::Optimizer& optimizer, Var& loss, const Strategy& strategy = {},
                     const layers::MinimizeOptions& options = {});
  // The same for `minimize`, which appends them in a way of its own.
  fleet::Applied minimize_by(const std::function<void()>& minimize, Program& main, Program& startup,
                             const fleet::Role& role, const Strategy& strategy);
  // Makes the programs of minimize() those of a worker among many, or of a worker of servers. What
  // there is to say of them is said before the first run.
  fleet::Applied distribute(Program& main, Program& startup, const Strategy& strategy = {}) {
    return distribute(main, startup, role(), strategy);
  }
  fleet::Applied distribute(Program& main, Program& startup, const fleet::Role& role,
                            const Strategy& strategy);

  // What is to be done before a run of `program`, which a Session does: a launched process joins
  // its job; workers meet for a startup program that makes groups of them; a worker connects to its
  // servers; what was given to follow() and on_run(), for the program with the number `id`, is
  // called. Returns what shall run: this program, or a copy whose lookups ask the servers for the
  // rows that `scope` lacks. REQUIRES: nobody changes the program meanwhile.
  std::shared_ptr<const Program> before_run(const Program& program, Scope& scope) {
    return before_run(program, scope, program.id());
  }
  std::shared_ptr<const Program> before_run(const Program& program, Scope& scope, uint64_t id);
  // `hook` is called before each run of the program from now on, and of its copies (copied()).
  void on_run(const Program& program, std::function<void(Scope&)> hook);
  // Before each run of the program, and of its copies, the variable gets the rate of a schedule.
  void follow(const Program& program, const std::string& learning_rate,
              std::function<double()> rate);
  void copied(const Program& program, const Program& copy);
  // To run the program is to serve_as() this role.
  void serve_by(const Program& program, const fleet::Role& role);

  // For an executor that runs such programs with the other workers and servers.
  Executor::Options executor_options(Generator* generator = nullptr);
  // A loader whose passes end for all workers together, and its next step: EvenLoader::next().
  std::shared_ptr<EvenLoader> even_loader();
  Executor::Next next_batch(const std::shared_ptr<EvenLoader>& loader, bool has_batch);
  // Refuses, on all workers, parameters that differ between them (runtime/same_parameters.h).
  void compare_parameters(const Program& program, Scope& scope);
  // "worker 1 of 2 trains a model of its own: ...", which nothing else would show, since every one
  // of them runs to its end; said once. "": it does not, or has said so.
  std::string trains_alone(const Program& program);

 private:
  std::shared_ptr<const Program> on_servers(const Program& program, Scope& scope);
  void say_how_it_trains(const fleet::Applied& applied, const Program& program, Scope& scope);
};

}  // namespace flotilla::job
