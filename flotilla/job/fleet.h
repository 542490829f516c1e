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

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "flotilla/base/progress.h"
#include "flotilla/comm/world.h"
#include "flotilla/fleet/pipeline.h"
#include "flotilla/fleet/role.h"
#include "flotilla/fleet/servers.h"
#include "flotilla/layers/optimizer.h"
#include "flotilla/passes/strategy.h"
#include "flotilla/runtime/executor.h"

namespace flotilla {
class SaveSet;
}

namespace flotilla::job {

class EvenLoader;
class Membership;
class TableWorker;

// The tables that a program asks servers for, of which it has no rows.
std::vector<std::string> tables_asked(const Program& program);

class Fleet {
 public:
  struct Options {
    // Where is counted what this process does; null: by the fleet itself. It outlives the fleet.
    Progress* progress = nullptr;
    // Called about ten times a second while the process waits for others to appear, and while it
    // serves; may throw, which ends the wait.
    std::function<void()> while_waiting = {};
    // As in Membership::Options.
    std::function<bool()> interrupted = {};
    // Does what waits for servers, and ends it by give_up() where somebody asks for that meanwhile;
    // empty: it is done.
    std::function<void(Fleet& fleet, const std::function<void()>& work)> listening = {};
    // Where uneven data is reported, on worker 0; empty: to the standard output.
    std::function<void(const std::string& line)> print = {};
  };

  // Of a process that belongs to no job yet.
  Fleet();
  explicit Fleet(Options options);
  // As init() does.
  explicit Fleet(fleet::Role role);
  // Leaves; where an exception ends the program, as one that fails.
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // ---- Joining and leaving

  // Joins, and waits until all workers are here; with servers it says only that this process is.
  void init(fleet::Role role);
  // That of init(), or of the others that name one; before, that of a process alone.
  const fleet::Role& role() const;
  // Connects to the store of the job that the environment or `role` names, once. False: the process
  // is on its own.
  bool join(const fleet::Role& role);
  // The same for a launched process that has not asked to join; costs a branch from then on.
  void join_if_launched();
  bool joined() const;
  // Why the job stopped; "": it goes on.
  std::string stopped() const;
  // Whether somebody has interrupted the job: its processes end as by Ctrl-C.
  bool interrupted() const;
  // Says goodbye to servers, workers and the job. `failed`: without a word, so that the others take
  // this process for lost. `signal`: what asked it to end; 0: nothing.
  void leave(bool failed = false, int signal = 0);

  Progress& progress() const { return *options_.progress; }

  // ---- Workers

  // Waits until all workers are here.
  comm::World& meet(const fleet::Role& role);
  // Those that have met; refused before.
  comm::World& world() const;
  // The same; null before.
  comm::World* met() const;
  void leave_workers();
  // Agreement of all workers, for data sets, for which workers of servers meet, too.
  Exchange& exchange();
  // What worker 0 does for all is done: it says so, and the others wait until it has, or has left
  // (job/workers.h). Nothing where workers have not met.
  void after_first();
  void barrier_worker();

  // ---- Programs

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

  // ---- With servers

  // Makes the tables that this server keeps; `checkpoint` is what they begin with.
  void init_server(const fleet::Role& role, const std::string& checkpoint = {});
  // Serves until all workers have left, or SIGTERM asks it to end; why the job stopped, "" where
  // all is well.
  std::string serve();
  // Both; an error where the job stopped.
  void serve_as(const fleet::Role& role);
  // Both, for a whole program: the exit code of the process.
  int run_server(const std::string& checkpoint = {});

  // Tells the others that this worker is there; again, nothing.
  void begin_worker(const fleet::Role& role);
  // Worker 0 gives the servers the parameters of `scope`, the others get theirs from there.
  void init_worker(Scope& scope);
  void stop_worker();
  // From another thread: this worker waits for no server any more.
  void give_up();
  // Whether init_worker() was called with this scope: what the servers have is what it should have.
  bool trains_in(const Scope& scope) const;

  // What the program keeps from run to run, with the parameters as the servers have them, each in a
  // file of its name, and the tables beside, which the servers write; `mode` as
  // TableWorker::save().
  void save_persistables(const std::string& directory, const Program& program, Scope& scope,
                         int64_t mode = 0);
  // A model that brings the rows of its tables along, for load_inference_model in any process.
  void save_inference_model(const std::string& prefix, const Program& program,
                            const std::vector<std::string>& feeds,
                            const std::vector<std::string>& targets, Scope& scope);
  // The tables, or one, go back to the servers, and to `scope` what workers hold of them. On a
  // server, to its own.
  void load_model(const std::string& directory, Scope& scope, std::optional<uint32_t> table = {});
  // Drops rows of sparse tables: TableWorker::shrink().
  int64_t shrink(uint32_t max_unseen);
  // Everything else. Refused where this process is no worker of servers.
  TableWorker& tables();
  bool has_tables() const;
  bool connected() const;

  // Lets the servers add their tables to a save of these variables, where they keep one of them, or
  // a sparse one.
  void add_tables(SaveSet& save, const std::vector<std::string>& names, bool sparse = false);
  // Of variables that are to be saved, the values as the servers have them.
  struct Values {
    std::vector<std::string> names = {};     // that can be saved
    std::shared_ptr<Scope> scope = {};       // with the values; null: the given one has them
    std::vector<std::string> left_out = {};  // of the others, a sentence each
  };
  // `program` (may be null) learns how many rows tables have. A table whose ids are no rows of a
  // tensor is refused or, with `leave_out`, left out.
  Values values_of(std::vector<std::string> names, Scope& scope, Program* program,
                   bool leave_out = false);
  // Lookups of the servers' tables, or of those among `names`, ask the servers; or again the scope.
  void look_up_on_servers(Program& program,
                          const std::optional<std::vector<std::string>>& names = {});
  void look_up_here(Program& program);
  // Lets a loaded program look rows up in what servers saved in `directory`, within this process,
  // which can do so with one model; a worker of servers asks those. `scope` gets the tables without
  // rows.
  void open_tables(const std::string& directory, const Program& program, Scope& scope);
  // For executors; null where no program of this process needs servers.
  ps::Worker* servers() const;

 private:
  struct Parts;  // the connections to the job, whose headers need gRPC

  // Those of this process: a fork leaves alone what it has a copy of.
  Parts& here() const;
  Membership* membership(const fleet::Role& role);
  Membership& membership_with_servers(const fleet::Role& role);
  bool keeps(const std::vector<std::string>& names, bool sparse) const;
  void wait_for_servers(const std::function<void()>& work);
  std::shared_ptr<const Program> on_servers(const Program& program, Scope& scope);
  void say_how_it_trains(const fleet::Applied& applied, const Program& program, Scope& scope);

  Progress own_progress_;
  Options options_;
  const int exceptions_;  // under way when it was made
  fleet::Role role_;
  mutable int owner_;  // the process that the parts are of
  mutable std::unique_ptr<Parts> parts_;
};

}  // namespace flotilla::job
