// flotilla/testing/killed.h
//
// Processes that are killed, one after the other, before each of their system calls:
//
//     for (int number = 1;; ++number) {
//       const End end = run_until_call(number, [&] { save(folder); });
//       ... whatever is in the folder now must do ...
//       if (end != End::kKilled) break;
//     }
//
// run_on_full_disk() does the same with calls that find no room on the disk.

#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <functional>

namespace flotilla {

enum class End {
  kKilled,
  kDone,
  kNotTraced,  // this process may not trace its children
};

// Calls f in a process that is killed before its system call of that number.
inline End run_until_call(int number, const std::function<void()>& f) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(3);
    ::raise(SIGSTOP);
    f();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return End::kNotTraced;
  // A call stops it twice: before and after.
  for (int stops = 0; stops < 2 * number - 1; ++stops) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      return End::kDone;
    }
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return End::kKilled;
}

enum class FullDisk {
  kNotReached,  // there are fewer such calls: nothing has failed
  kRefused,     // f has thrown
  kPassed,      // f has come to its end in spite of it
  kNotTraced,   // this process may not trace its children, or does not know their registers
};

#ifdef __x86_64__
inline bool takes_room(const user_regs_struct& call) {
  switch (call.orig_rax) {
    case SYS_openat:
      return (call.rdx & O_CREAT) != 0;
    case SYS_write:
    case SYS_writev:
    case SYS_mkdir:
    case SYS_rename:
    case SYS_fsync:
      return true;
    default:
      return false;
  }
}

// Calls f in a process in which the system call of that number, of those that may take room on a
// disk, fails with ENOSPC; `stays`: and all such calls after it, too.
inline FullDisk run_on_full_disk(int number, bool stays, const std::function<void()>& f) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(3);
    ::raise(SIGSTOP);
    try {
      f();
    } catch (const std::exception&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return FullDisk::kNotTraced;
  const auto go_on = [&] {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
    return WIFSTOPPED(status);
  };
  int seen = 0;
  while (go_on()) {
    user_regs_struct call = {};
    ::ptrace(PTRACE_GETREGS, child, nullptr, &call);
    const bool counts = takes_room(call);
    seen += counts;
    const bool fails = counts && (seen == number || (stays && seen > number));
    if (fails) {
      call.orig_rax = static_cast<unsigned long long>(-1);  // no call at all
      ::ptrace(PTRACE_SETREGS, child, nullptr, &call);
    }
    if (!go_on()) break;
    if (fails) {
      ::ptrace(PTRACE_GETREGS, child, nullptr, &call);
      call.rax = static_cast<unsigned long long>(-ENOSPC);
      ::ptrace(PTRACE_SETREGS, child, nullptr, &call);
    }
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= 1) << "it has crashed";
  if (seen < number) return FullDisk::kNotReached;
  return WEXITSTATUS(status) == 0 ? FullDisk::kPassed : FullDisk::kRefused;
}
#else
inline FullDisk run_on_full_disk(int, bool, const std::function<void()>&) {
  return FullDisk::kNotTraced;
}
#endif

}  // namespace flotilla
