// flotilla/runtime/executor.h
//
// Runs programs. The first run of a program with feeds of certain shapes makes a plan; later runs
// look it up and loop over its steps.
//
// Thread safety: none; one executor belongs to one thread at a time. Several executors may run at
// the same time on different scopes.

#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "flotilla/base/progress.h"
#include "flotilla/ir/program.h"
#include "flotilla/kernel/random.h"
#include "flotilla/plan/plan.h"
#include "flotilla/runtime/reads.h"
#include "flotilla/runtime/scope.h"

namespace flotilla {

struct Feed {
  std::string name = {};
  Tensor tensor = {};  // plain; its memory is read in place
};

class Executor {
 public:
  struct Options {
    // The device that runs what it has kernels for; null: the CPU runs all. It outlives the
    // executor.
    Backend* device = nullptr;
    // Plans that are kept; the one used longest ago goes first.
    int64_t plans = 64;
    // Where random operators without a seed draw from. Null: one of the executor's own, seeded by
    // the clock.
    Generator* generator = nullptr;
    // Where runs are counted and timed. A step of the job is a run with feeds or fetches: a startup
    // program has neither.
    Progress* progress = nullptr;
    // The processes that run programs together with this one; null: it is alone. It outlives the
    // executor.
    comm::World* world = nullptr;
    // The parameter servers that programs pull from and push to; null: there are none. It outlives
    // the executor.
    ps::Worker* servers = nullptr;
    // Whom programs may ask something (kernel/caller.h); null: nobody. It outlives the executor.
    Caller* caller = nullptr;
    // Whether each step refuses to write NaN or an infinite value.
    bool check_numbers = false;
    // As in PlanRequest: for fuzzers.
    bool guarded = false;
  };

  Executor();
  explicit Executor(Options options);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Runs the global block once. The results are copies in the order of `fetches`. What the program
  // reads from loaders is taken from those that `scope` knows; throws data::EndOfPass where one has
  // no more batches.
  std::vector<FetchedValue> run(const Program& program, const std::vector<Feed>& feeds,
                                const std::vector<std::string>& fetches, Scope& scope);

  // The plan that run() would use; made where it does not exist. The first one of a program with
  // collective ops is made by all ranks together, which compare what they are about to do.
  Plan& plan(const Program& program, const std::vector<Feed>& feeds,
             const std::vector<std::string>& fetches, Scope& scope);

  // Runs what plan() gave for these feeds and this scope.
  std::vector<FetchedValue> run(Plan& plan, const std::vector<Feed>& feeds, Scope& scope);

  // What a pass over data does next, as all ranks that run the program together agree, given
  // whether this one has a batch. A rank that stopped alone would leave the others waiting: all end
  // the pass with the first that has none or, where the program weighs samples
  // (weigh_by_samples), with the last; until then a rank without a batch runs without weight, on
  // any batch. At the end ranks compare their parameters (same_parameters.h). Asks nobody where the
  // program exchanges nothing.
  enum class Next { kRun, kRunWithoutWeight, kEnd };
  Next next_step(const Program& program, bool has_batch, Scope& scope);

  // The program with this id will not be run any more: its plans go.
  void forget(uint64_t program);

  const Options& options() const { return options_; }
  void check_numbers(bool on) { options_.check_numbers = on; }
  // How many plans were made so far, for tests and inspection.
  int64_t plans_made() const { return plans_made_; }

 private:
  struct Entry;

  std::vector<FetchedValue> run_fed(const Program& program, const std::vector<Feed>& feeds,
                                    const std::vector<std::string>& fetches, Scope& scope);
  const std::vector<Read>& reads_in(const Program& program);
  void say_what_runs_on_the_cpu(const Plan& plan);
  std::unique_ptr<Plan> make_plan(const Program& program, const Entry& entry, VariableStore& store);

  // What all ranks know of a program.
  struct Agreed {
    uint64_t version = 0;
    ExchangeLayouts layouts = {};
  };

  Options options_;
  Generator own_generator_;
  Arena arena_;
  Arena exchanged_;
  Arena on_device_;
  std::list<std::unique_ptr<Entry>> entries_;  // the latest used first
  int64_t plans_made_ = 0;
  std::map<uint64_t, Agreed> agreed_;  // by the program's id
  // What the program that ran last reads from loaders.
  std::pair<uint64_t, uint64_t> reads_for_ = {};  // its id and version
  std::vector<Read> reads_;
  // Whether the program that was asked for last exchanges something, and weighs samples.
  std::pair<uint64_t, uint64_t> exchanges_for_ = {};
  bool exchanges_ = false;
  bool weighs_ = false;
  std::set<std::string> on_cpu_;  // op types of which was said that the device does not run them
  std::vector<Feed> last_read_;   // by a program that weighs samples
};

}  // namespace flotilla
