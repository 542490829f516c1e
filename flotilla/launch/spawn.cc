#include "flotilla/launch/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "flotilla/base/cgroup.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/base/thread.h"

namespace flotilla::launch {
namespace {

// For what has been killed to go: the launcher has other things to do, the guardian has not.
constexpr std::chrono::milliseconds kPatience{2000};
constexpr std::chrono::milliseconds kGuardianPatience{30000};

struct Pipe {
  Fd read;
  Fd write;
};

Pipe make_pipe() {
  int ends[2];
  const bool made = pipe2(ends, O_CLOEXEC) == 0;
  require(made, "cannot create a pipe: {}", std::strerror(errno));
  return {Fd(ends[0]), Fd(ends[1])};
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  if (std::string file = find_in_path(name); !file.empty()) return file;
  // What stands in this folder is a program too, as a script is.
  if (access(name.c_str(), X_OK) == 0) return "./" + name;
  refuse("the program {} is neither on the PATH nor an executable file in this folder", name);
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> found;
  for (const std::string& word : words) found.push_back(const_cast<char*>(word.c_str()));
  found.push_back(nullptr);
  return found;
}

// The child's side. Other threads of the launcher may have held locks when it was copied: only
// calls that are safe in a signal handler are allowed here.
[[noreturn]] void become(const char* program, char* const* words, char* const* environment,
                         const Command& command, int null, int entrance, pid_t parent, int report) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it died before the line above
  [[maybe_unused]] const ssize_t entered = write(entrance, "0", 1);  // or it is ended without
  for (int s = 1; s < NSIG; ++s) signal(s, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(null, 0);
  if (command.output >= 0) {
    dup2(command.output, 1);
    dup2(command.output, 2);
  }
  if (command.keep >= 0) fcntl(command.keep, F_SETFD, 0);
  execve(program, words, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(report, &error, sizeof error);
  _exit(127);
}

void write_all(int fd, const void* bytes, size_t size) {
  ssize_t written = 0;
  do {
    written = ::write(fd, bytes, size);
  } while (written < 0 && errno == EINTR);
}

}  // namespace

std::string to_string(const Ending& ending) {
  if (ending.signal != 0) {
    return fmt::format("killed by signal {} ({})", ending.signal, strsignal(ending.signal));
  }
  return fmt::format("exit code {}", ending.exit_code);
}

std::string find_in_path(const std::string& name) {
  std::istringstream path(env::text_or("PATH", "/usr/local/bin:/usr/bin:/bin"));
  for (std::string folder; std::getline(path, folder, ':');) {
    std::string file = folder + "/" + name;
    if (access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file)) return file;
  }
  return "";
}

Child::Child(const Command& command) {
  const std::string program = find_program(command.words.at(0));
  const std::vector<char*> words = pointers(command.words);
  const std::vector<char*> environment = pointers(command.environment);
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe report = make_pipe();
  cgroup_ = make_cgroup(command.cgroup);
  const Fd entrance(::open(cgroup_entrance(cgroup_).c_str(), O_WRONLY | O_CLOEXEC));
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    become(program.c_str(), words.data(), environment.data(), command, null.get(), entrance.get(),
           parent, report.write.get());
  }
  if (pid_ < 0) {
    const int error = errno;
    end_cgroup(cgroup_, kPatience);
    refuse("cannot start a process for {}: {}. {}", program, std::strerror(error), thread_limits());
  }
  setpgid(pid_, pid_);  // whoever comes first, so that signals to the group arrive from now on
  report.write.reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(report.read.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  pidfd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (got == sizeof error) {
    wait();
    refuse("cannot start {}: {}", program, std::strerror(error));
  }
}

Child::~Child() {
  if (!pidfd_) return;
  send(SIGKILL);
  wait();
}

bool Child::stopped() const {
  std::ifstream file(fmt::format("/proc/{}/stat", pid_));
  const std::string line(std::istreambuf_iterator<char>(file), {});
  const size_t name_end = line.rfind(')');  // "4711 (a name) T ..."
  return name_end != std::string::npos && line.substr(name_end + 1, 3) == " T ";
}

void Child::send(int signal) const {
  if (pidfd_) ::kill(-pid_, signal);
}

Ending Child::wait() {
  siginfo_t info = {};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  // While its leader is not waited for, the group's number belongs to nobody else.
  ::kill(-pid_, SIGKILL);
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
  }
  pidfd_.reset();
  end_cgroup(cgroup_, kPatience);
  if (info.si_code == CLD_EXITED) return {.exit_code = info.si_status};
  return {.signal = info.si_status};
}

Guardian::Guardian(const std::string& folder) {
  Pipe pipe = make_pipe();
  cgroup_ = make_cgroup(own_cgroup());
  pid_ = fork();
  if (pid_ < 0) {
    const int error = errno;
    end_cgroup(cgroup_, kPatience);
    refuse("cannot start the process that ends the others: {}. {}", std::strerror(error),
           thread_limits());
  }
  if (pid_ == 0) {
    setsid();  // Ctrl-C and a closed terminal do not reach it
    for (const int s : {SIGINT, SIGTERM, SIGHUP}) signal(s, SIG_IGN);
    // Nobody shall wait for an output or a port that it holds open.
    const int null = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
    constexpr int kPipe = 3;
    dup2(pipe.read.get(), kPipe);
    close_range(kPipe + 1, ~0U, 0);
    std::set<pid_t> groups;
    pid_t record = 0;
    while (::read(kPipe, &record, sizeof record) == sizeof record) {
      if (record > 0) groups.insert(record);
      if (record < 0) groups.erase(-record);
    }
    for (const pid_t group : groups) ::kill(-group, SIGKILL);
    end_cgroup(cgroup_, kGuardianPatience);
    // What is killed may still write for a moment.
    std::error_code error;
    for (int attempt = 0; attempt < 50 && std::filesystem::exists(folder, error); ++attempt) {
      std::filesystem::remove_all(folder, error);
      usleep(20000);
    }
    _exit(0);
  }
  pipe_ = std::move(pipe.write);
}

Guardian::~Guardian() {
  end_cgroup(cgroup_, kPatience);
  ::kill(pid_, SIGKILL);  // it may be stopped
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Guardian::guard(pid_t group) { write_all(pipe_.get(), &group, sizeof group); }

void Guardian::forget(pid_t group) {
  const pid_t record = -group;
  write_all(pipe_.get(), &record, sizeof record);
}

}  // namespace flotilla::launch
