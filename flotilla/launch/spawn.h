// flotilla/launch/spawn.h
//
// Child processes that end with their parent: each leads a process group of its own, gets a signal
// when the launcher dies, and a guardian ends what the group has started besides. Where a cgroup
// may be made each has one, with which ends whatever it has started.

#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "flotilla/base/fd.h"

namespace flotilla::launch {

// How a process ended.
struct Ending {
  int exit_code = 0;
  int signal = 0;  // 0: it exited by itself

  bool ok() const { return exit_code == 0 && signal == 0; }
  // What a shell would give: 128 + signal.
  int shell_code() const { return signal != 0 ? 128 + signal : exit_code; }
};

// "exit code 3", "killed by signal 9 (Killed)"
std::string to_string(const Ending& ending);

// The file that a shell would run as `name`, or "".
std::string find_in_path(const std::string& name);

struct Command {
  std::vector<std::string> words = {};        // the program is looked for in the PATH
  std::vector<std::string> environment = {};  // NAME=value, all of it
  int output = -1;                            // stdout and stderr; -1: the launcher's own
  int keep = -1;                              // a descriptor that the child inherits; -1: none
  std::string cgroup = {};  // below which the child gets its own; "": it gets none
};

// A process and its groups. Destroying one that runs kills its groups and waits for it.
class Child {
 public:
  // Refuses a program that cannot be started. Must be called from a thread that lives as long as
  // the launcher: the end of that thread is what children take for the end of the launcher.
  explicit Child(const Command& command);
  ~Child();
  Child(Child&&) noexcept = default;
  Child& operator=(Child&&) noexcept = default;

  pid_t pid() const { return pid_; }
  // Readable when the process has ended.
  int pidfd() const { return pidfd_.get(); }
  // By a signal, as SIGSTOP does; it goes on at SIGCONT.
  bool stopped() const;
  // To the whole group.
  void send(int signal) const;
  // Waits for the end, kills what is left of its groups, and says how it ended.
  Ending wait();

 private:
  pid_t pid_ = -1;
  Fd pidfd_;
  std::string cgroup_;
};

// A process of its own that kills the groups of children when the launcher is gone, however it
// went. Make it before any thread is started, and let it go after the children.
class Guardian {
 public:
  // `folder` goes with the launcher; empty: none.
  explicit Guardian(const std::string& folder = {});
  // All is in order: the guardian leaves.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  void guard(pid_t group);
  void forget(pid_t group);
  // For the children, all of which end with it; "": none may be made.
  const std::string& cgroup() const { return cgroup_; }

 private:
  pid_t pid_ = -1;
  Fd pipe_;
  std::string cgroup_;
};

}  // namespace flotilla::launch
