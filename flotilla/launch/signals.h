// flotilla/launch/signals.h
//
// Who asks a job to end: signals, and the end of the process that started the launcher.

#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <iterator>
#include <optional>

#include "flotilla/base/error.h"
#include "flotilla/base/fd.h"

namespace flotilla::launch {

// Blocks the signals that end a job and hands them out as reads. Threads that were there before,
// those of gRPC for one, do not block them: they hand what they get to this one.
// REQUIRES: made in the main thread
class Signals {
 public:
  Signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int s : kSignals) sigaddset(&set, s);
    sigprocmask(SIG_BLOCK, &set, &before_);
    struct sigaction hand_over = {};
    hand_over.sa_handler = [](int signal) { syscall(SYS_tgkill, getpid(), getpid(), signal); };
    hand_over.sa_flags = SA_RESTART;
    for (size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], nullptr, &actions_[i]);
      if (actions_[i].sa_handler == SIG_DFL) sigaction(kSignals[i], &hand_over, nullptr);
    }
    fd_ = Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    signal(SIGPIPE, SIG_IGN);  // a closed terminal must not end the launcher before its children
  }
  ~Signals() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &actions_[i], nullptr);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_.get(); }
  std::optional<int> next() const {
    signalfd_siginfo info = {};
    if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
  }

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

  sigset_t before_ = {};
  std::array<struct sigaction, kSignals.size()> actions_ = {};
  Fd fd_;
};

// The process that started the launcher.
class Parent {
 public:
  // 0: none is watched. Refuses one that is not our parent: its number may be that of another
  // process by now.
  explicit Parent(int64_t pid) {
    if (pid == 0) return;
    fd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
    require(fd_ && getppid() == pid,
            "--parent_pid must be the process that started the launcher, but {} is not", pid);
  }

  // Readable when it has ended; -1: nobody is watched.
  int fd() const { return fd_ ? fd_.get() : -1; }
  void forget() { fd_.reset(); }

 private:
  Fd fd_;
};

// A signal has come that is not taken yet, or whoever started the job is gone.
inline bool asked_to_end(const Signals& signals, const Parent& parent) {
  pollfd fds[] = {{signals.fd(), POLLIN, 0}, {parent.fd(), POLLIN, 0}};
  return ::poll(fds, std::size(fds), 0) > 0;
}

}  // namespace flotilla::launch
