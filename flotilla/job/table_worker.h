// flotilla/job/table_worker.h
//
// A worker of a job whose parameters live on servers, from its start to its goodbye.
//
//   fleet.init   TableWorker worker(membership, {...})     the others know that it is there
//   minimize     worker.prepare(options, tables)           programs can be run from here on
//   startup      executor.run(startup)                     draws the first values
//   init_worker  worker.connect(scope)                     worker 0 gives them to the servers
//   training     executor.run(main)                        pulls and pushes
//   stop_worker  worker.stop()
//
// Thread safety: one thread.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/save_set.h"
#include "flotilla/fleet/role.h"
#include "flotilla/job/job_state.h"
#include "flotilla/job/membership.h"
#include "flotilla/job/worker_meeting.h"
#include "flotilla/passes/ps_split.h"
#include "flotilla/ps/client.h"
#include "flotilla/ps/worker.h"
#include "flotilla/runtime/scope.h"

namespace flotilla::job {

class TableWorker {
 public:
  struct Options {
    fleet::Role role = {};
    Progress* progress = nullptr;
    // Called about ten times a second while it waits for other processes; may throw.
    std::function<void()> while_waiting = {};
  };

  // `membership` outlives it.
  TableWorker(Membership& membership, Options options);
  ~TableWorker();
  TableWorker(const TableWorker&) = delete;
  TableWorker& operator=(const TableWorker&) = delete;

  // The tables of a program, and how they are trained.
  ps::Worker& prepare(const passes::PsOptions& how, std::vector<passes::ServerTable> tables);
  // For executors; null before prepare().
  ps::Worker* worker() { return worker_.get(); }
  const std::vector<passes::ServerTable>& tables() const { return tables_; }

  // Whether `scope` has the parameters that connect() needs.
  bool can_connect(Scope& scope) const;
  // Waits for the servers. Worker 0 makes the tables and gives them the values of `scope`, unless
  // they have values; then, and on the others, `scope` gets those of the servers.
  void connect(Scope& scope);
  bool connected() const { return worker_ != nullptr && worker_->connected(); }

  // For what is not a step, also without a program.
  ps::Client& client() { return *client_; }
  // The dense parameters as the servers have them, once all that this worker pushed is applied.
  void take_dense(Scope& scope);
  // Lets the servers write all tables, or one, into a folder of `directory`, once all that this
  // worker pushed is applied. Mode 0: all rows; 1: the same, and deltas follow; 2: the rows that
  // have changed since the last save in mode 1 or 2.
  void save(const std::string& directory, int64_t mode = 0, uint32_t only = ps::kAllTables);
  // The same as a part of a larger save; saved() is called when that is committed.
  void write(SaveSet& save, int64_t mode = 0, uint32_t only = ps::kAllTables);
  void saved(int64_t mode, uint32_t only = ps::kAllTables);
  // Lets them fill the tables, or one, with what save() wrote; `scope` gets the values that workers
  // hold.
  void load(const std::string& directory, Scope& scope, uint32_t only = ps::kAllTables);
  // Counts every row of the sparse tables as unseen once more, and drops those that are so more
  // than `max_unseen` times; how many went.
  int64_t shrink(uint32_t max_unseen);
  // All rows of a sparse table: as many as the program declares, or more where keys are larger.
  // Rows that nobody asked for have their first values. Refuses keys that no tensor could hold.
  Tensor read_rows(const passes::ServerTable& table);

  // `meet(come_back)` waits for other workers, and calls come_back() once they are there; rounds of
  // synchronous training go on without this one until then.
  void while_away(const std::function<void(const WorkerMeeting::AllCame&)>& meet);
  // As WorkerMeeting does, while it is away.
  void barrier();
  std::vector<std::optional<std::string>> gather(const std::string& mine);

  // Returns when all that was pushed is applied; from then on nobody waits for this worker.
  void stop();
  bool stopped() const { return stopped_; }

 private:
  bool has_values(const passes::ServerTable& table) const;
  // Returns when all that this worker pushed is applied. Refuses one that is not connected.
  void settle();
  void give(Scope& scope);
  void take(Scope& scope, bool dense_only);
  void announce(ps::Presence::State state);

  const Options options_;
  Membership& membership_;
  JobState job_state_;
  const std::shared_ptr<ps::Client> client_;
  WorkerMeeting meeting_;
  passes::PsMode mode_ = {};
  std::vector<passes::ServerTable> tables_;
  std::unique_ptr<ps::Worker> worker_;
  uint64_t version_ = 0;  // of the presence
  bool stopped_ = false;
  Membership::Listening listening_;  // the first to go
};

}  // namespace flotilla::job
