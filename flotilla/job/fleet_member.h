// flotilla/job/fleet_member.h
//
// What a process of any job does: it joins, meets the other workers, and leaves. The first part of
// a Fleet (fleet.h).

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "flotilla/base/progress.h"
#include "flotilla/comm/world.h"
#include "flotilla/fleet/role.h"

namespace flotilla::job {

class FleetOfServers;
class Membership;

class FleetMember {
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
    std::function<void(FleetOfServers& fleet, const std::function<void()>& work)> listening = {};
    // Where uneven data is reported, on worker 0; empty: to the standard output.
    std::function<void(const std::string& line)> print = {};
  };

  FleetMember(const FleetMember&) = delete;
  FleetMember& operator=(const FleetMember&) = delete;

  // ---- Joining and leaving

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
  // What worker 0 does for all is done: it says so, and the others wait until it has, or has left
  // (job/workers.h). Nothing where workers have not met.
  void after_first();

 protected:
  struct Parts;  // the connections to the job, whose headers need gRPC

  explicit FleetMember(Options options);
  // Leaves; where an exception ends the program, as one that fails.
  ~FleetMember();

  // Those of this process: a fork leaves alone what it has a copy of.
  Parts& here() const;
  Membership* membership(const fleet::Role& role);

  Progress own_progress_;
  Options options_;
  fleet::Role role_;

 private:
  const int exceptions_;  // under way when it was made
  mutable int owner_;     // the process that the parts are of
  mutable std::unique_ptr<Parts> parts_;
};

}  // namespace flotilla::job
