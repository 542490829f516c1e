#include "flotilla/base/process_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <system_error>
#include <vector>

#include "flotilla/base/cgroup.h"
#include "flotilla/base/error.h"
#include "flotilla/base/thread.h"

namespace flotilla {
namespace {

// Far more than the leader needs; it may be stopped, or the machine busy.
constexpr std::chrono::milliseconds kPatience{3000};

// $0 is the mark, $1 the cgroup, which an owner that is there has ended before. What is found may
// have forked meanwhile: hence several rounds. The leader itself and its grep do not carry the
// mark. What is killed may take its time to go, at most 30 s, and only then is the cgroup removed.
constexpr const char* kLeader = R"sh(
trap '' HUP INT QUIT TERM
read -r nothing
kill_members() {
  while read -r pid; do [ "$pid" -gt 0 ] && kill -KILL "$pid"; done <"$1/cgroup.procs"
  for below in "$1"/*/; do [ -d "$below" ] && kill_members "${below%/}"; done
}
remove_groups() {
  for below in "$1"/*/; do [ -d "$below" ] && remove_groups "${below%/}"; done
  rmdir "$1"
}
kill_all() { echo 1 >"$1/cgroup.kill" || kill_members "$1"; }
[ -d "$1" ] && kill_all "$1"
for round in 1 2 3 4 5; do
  found=$(grep -lsF -e "$0" /proc/[0-9]*/environ 2>/dev/null)
  [ -n "$found" ] || break
  for file in $found; do
    pid=${file#/proc/}
    kill -KILL "${pid%/environ}" 2>/dev/null
  done
done
round=0
while [ -d "$1" ] && [ $((round += 1)) -lt 600 ]; do
  remove_groups "$1"
  [ -d "$1" ] || break
  kill_all "$1"  # a member may have come in meanwhile
  sleep 0.05
done
kill -KILL 0
)sh";

// $0 is the cgroup's entrance, $1 the command, which shall not see them.
constexpr const char* kEnter = R"sh({ echo 0 >"$0"; } 2>/dev/null; exec /bin/sh -c "$1" sh)sh";

constexpr std::string_view kMark = "FLT_GROUP=";

// Unique on this machine for as long as it runs.
std::string new_mark() {
  static std::atomic<int64_t> count = 0;
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return fmt::format("{}{}-{}-{}", kMark, getpid(), now, count++);
}

// The owner may itself be a member of another group: the leader must outlive that one.
std::vector<char*> environment_without_mark() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with(kMark)) kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

}  // namespace

SpawnPlan::SpawnPlan(pid_t group) {
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  // Python ignores SIGPIPE; a command must not, or it would outlive its reader.
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, group);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

SpawnPlan::~SpawnPlan() {
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
}

ProcessGroup::ProcessGroup() : owner_(getpid()), mark_(new_mark()) {
  std::array<int, 2> ends = {-1, -1};
  const bool made = pipe2(ends.data(), O_CLOEXEC) == 0;
  require(made, "cannot create a pipe: {}", std::generic_category().message(errno));
  const Fd read(ends[0]);
  lifeline_ = Fd(ends[1]);
  SpawnPlan plan(0);
  posix_spawn_file_actions_adddup2(&plan.actions, read.get(), STDIN_FILENO);
  // Nobody shall wait for an output that the leader holds open.
  posix_spawn_file_actions_addopen(&plan.actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&plan.actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&plan.actions, STDERR_FILENO + 1);
  cgroup_ = make_cgroup(own_cgroup());
  std::string shell = "sh", option = "-c", script = kLeader, mark = mark_, group = cgroup_;
  const std::array<char*, 6> arguments = {shell.data(), option.data(), script.data(),
                                          mark.data(),  group.data(),  nullptr};
  const int code = posix_spawn(&id_, "/bin/sh", &plan.actions, &plan.attributes, arguments.data(),
                               environment_without_mark().data());
  if (code == 0) return;
  id_ = -1;
  end_cgroup(cgroup_, kPatience);
  refuse("cannot start /bin/sh, which ends what this process starts with it: {}. {}",
         std::generic_category().message(code), thread_limits());
}

std::string ProcessGroup::entrance() const { return cgroup_entrance(cgroup_); }

std::vector<std::string> ProcessGroup::shell(const std::string& command) const {
  if (cgroup_.empty()) return {"sh", "-c", command};
  return {"sh", "-c", kEnter, entrance(), command};
}

void ProcessGroup::end() {
  const pid_t id = std::exchange(id_, -1);
  const bool mine = id >= 0 && getpid() == owner_;
  // Before the leader hears of it, which takes over where this process is killed meanwhile.
  if (mine) end_cgroup(cgroup_, kPatience);
  lifeline_.reset();
  if (!mine) return;
  ::kill(-id, SIGCONT);  // a leader that is stopped hears nothing
  const Fd leader(static_cast<int>(syscall(SYS_pidfd_open, id, 0)));
  pollfd ended = {leader.get(), POLLIN, 0};
  while (leader && ::poll(&ended, 1, static_cast<int>(kPatience.count())) < 0 && errno == EINTR) {
  }
  // In case somebody has killed the leader alone. While it is not reaped its number is its own.
  ::kill(-id, SIGKILL);
  while (waitpid(id, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace flotilla
