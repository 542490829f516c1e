// flotilla/base/process_group.h
//
// A process group that ends with the process that made it, however that ends. Its leader is a small
// shell that holds the read end of a pipe, whose write end only the owner has: when the owner is
// gone, or wants it, the shell kills its whole group, what has left the group but still carries its
// mark in the environment, and, where a cgroup may be made, whatever else members have started.
//
// Not a parent-death signal: that one fires when the thread that forked ends, and grandchildren do
// not inherit it.

#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "flotilla/base/fd.h"

namespace flotilla {

// What posix_spawn needs to know: a process with the default signals, in a group (0: of its own).
// Descriptors above stderr are closed once all actions have been added.
struct SpawnPlan {
  explicit SpawnPlan(pid_t group);
  ~SpawnPlan();
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// Thread safety: none.
class ProcessGroup {
 public:
  ProcessGroup();
  ~ProcessGroup() { end(); }
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  // What members give to setpgid.
  pid_t id() const { return id_; }
  // "NAME=value" for the environment of the members.
  const std::string& mark() const { return mark_; }
  // The file to which members write "0" before they start anything (flotilla/base/cgroup.h); "":
  // there is none.
  std::string entrance() const;
  // The words with which /bin/sh does that, and then is what `sh -c <command>` would be.
  std::vector<std::string> shell(const std::string& command) const;

  // Ends every member, the leader included. In a forked child, which must call it for the group to
  // end with its owner: lets go of the group.
  void end();

 private:
  const pid_t owner_;
  const std::string mark_;
  std::string cgroup_;  // of the members; "": none may be made
  pid_t id_ = -1;       // -1: ended
  Fd lifeline_;
};

}  // namespace flotilla
