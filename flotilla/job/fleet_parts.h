// flotilla/job/fleet_parts.h
//
// What a fleet holds of its job, in the order in which it is made: all of it uses the membership.

#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "flotilla/base/exchange.h"
#include "flotilla/job/even_loader.h"
#include "flotilla/job/fleet.h"
#include "flotilla/job/local_tables.h"
#include "flotilla/job/membership.h"
#include "flotilla/job/table_server.h"
#include "flotilla/job/table_worker.h"
#include "flotilla/job/workers.h"

namespace flotilla::job {

// The startup program of a worker makes a table of the servers without rows.
bool lacks_rows(const passes::ServerTable& table, Scope& scope);

struct FleetMember::Parts {
  std::mutex turn = {};             // of those who join, leave, or ask for the membership
  std::atomic<bool> tried = false;  // to join
  bool of_parent = false;           // this process was forked from one that had joined
  std::unique_ptr<Membership> membership = {};

  std::unique_ptr<Workers> workers = {};
  bool left_workers = false;  // by leave_workers()

  std::unique_ptr<TableServer> server = {};
  std::unique_ptr<TableWorker> tables = {};
  std::unique_ptr<Exchange> exchange = {};  // of workers of servers
  const Scope* home = nullptr;              // in which this worker trains
  std::atomic<bool> gave_up = false;        // by give_up()

  // What is known of a program: its ops, looked through once for each version of it.
  struct Kind {
    uint64_t version = 0;
    bool updates = false;      // parameters
    bool exchanges = false;    // something with all workers
    bool makes_rings = false;  // groups of several workers
    bool on_servers = false;   // trains there
  };
  Kind kind_of(const Program& program);
  struct Hooks {
    std::weak_ptr<const Program> program = {};
    std::map<std::string, std::function<double()>> rates = {};  // by their variables
    std::vector<std::function<void(Scope&)>> hooks = {};
  };
  Hooks& hooks_of(const Program& program);  // REQUIRES: `programs` is locked
  struct Elsewhere {
    uint64_t version = 0;
    std::shared_ptr<Program> copy = {};
  };
  std::mutex programs = {};  // over what follows, by the programs' ids
  std::map<uint64_t, Kind> kinds = {};
  std::map<uint64_t, Hooks> hooks = {};
  std::map<uint64_t, Elsewhere> elsewhere = {};  // copies whose lookups ask the servers
  std::vector<fleet::Applied> unsaid = {};       // of programs that have not run yet
  std::weak_ptr<EvenLoader> last_loader = {};    // which gave the last batch

  bool said_alone = false;                   // by trains_alone()
  std::unique_ptr<LocalTables> opened = {};  // in a process that is neither server nor worker
  std::string opened_from = {};
};

}  // namespace flotilla::job
