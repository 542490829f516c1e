// flotilla/job/fleet_of_servers.h
//
// What a process of a job with parameter servers does: it serves, or trains what servers keep, and
// saves and loads that. The second part of a Fleet (fleet.h).

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/job/fleet_member.h"
#include "flotilla/runtime/scope.h"

namespace flotilla {
class Program;
class SaveSet;
namespace ps {
class Worker;
}
}  // namespace flotilla

namespace flotilla::job {

class TableWorker;

class FleetOfServers : public FleetMember {
 public:
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
  // Agreement of all workers, for data sets, for which workers of servers meet, too. One that was
  // started again is on its own: what the others agreed on is over.
  Exchange& exchange();
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

 protected:
  using FleetMember::FleetMember;

  void wait_for_servers(const std::function<void()>& work);

 private:
  Membership& membership_with_servers(const fleet::Role& role);
  bool keeps(const std::vector<std::string>& names, bool sparse) const;
};

}  // namespace flotilla::job
