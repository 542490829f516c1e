// flotilla/job/fleet.h
//
// The fleet as one of its processes sees it: what fleet.init() is to a Python program.
//
//   job::Fleet fleet(fleet::role_from_environment(/*collective=*/true));
//   nn::adam(0.001).minimize(loss);
//   fleet.distribute(nn::default_main_program(), nn::default_startup_program());
//   Session session(1, fleet);
//
// With parameter servers:
//
//   job::Fleet fleet(fleet::role_from_environment(/*collective=*/false));
//   if (fleet.role().is_server()) return fleet.run_server();
//   ... minimize, distribute, a session that runs the startup program ...
//   fleet.init_worker(session.scope());
//   ... training ...
//   fleet.stop_worker();
//
// Thread safety: as comm::World.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/comm/world.h"
#include "flotilla/fleet/pipeline.h"
#include "flotilla/fleet/role.h"
#include "flotilla/runtime/executor.h"

namespace flotilla::job {

class TableWorker;

class Fleet {
 public:
  // Waits until all workers are here; with servers it says only that this process is.
  explicit Fleet(fleet::Role role);
  // Leaves as stop_worker() does.
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  const fleet::Role& role() const;
  // Waits until all workers are here.
  comm::World& world();

  // Makes the programs of minimize() those of a worker among many, or of a worker of servers.
  fleet::Applied distribute(Program& main, Program& startup,
                            const passes::DistributedStrategy& strategy = {});
  // For an executor that runs such programs with the other workers and servers.
  Executor::Options executor_options(Generator* generator = nullptr);

  // ---- With servers

  // Serves until all workers have left; `checkpoint` is what the tables begin with. The exit code
  // of the process.
  int run_server(const std::string& checkpoint = {});
  // Worker 0 gives the servers the parameters of `scope`, the others get theirs from there.
  void init_worker(Scope& scope);
  void stop_worker();
  void barrier_worker();
  // What the program keeps from run to run, with the parameters as the servers have them, each in a
  // file of its name, and the tables beside, which the servers write; `mode` as
  // TableWorker::save().
  void save_persistables(const std::string& directory, const Program& program, Scope& scope,
                         int64_t mode = 0);
  // A model that brings the rows of its tables along, for load_inference_model in any process.
  void save_inference_model(const std::string& prefix, const Program& program,
                            const std::vector<std::string>& feeds,
                            const std::vector<std::string>& targets, Scope& scope);
  // The tables go back to the servers, and to `scope` what workers hold of them.
  void load_model(const std::string& directory, Scope& scope);
  // Drops rows of sparse tables: TableWorker::shrink().
  int64_t shrink(uint32_t max_unseen);
  // Everything else. Refused where this process is no worker of servers.
  TableWorker& tables();

 private:
  struct Parts;  // the connections to the job, whose headers need gRPC
  std::unique_ptr<Parts> parts_;
};

}  // namespace flotilla::job
