// flotilla/testing/killed.h
//
// Processes that are killed, one after the other, before each of their system calls:
//
//     for (int number = 1;; ++number) {
//       const End end = run_until_call(number, [&] { save(folder); });
//       ... whatever is in the folder now must do ...
//       if (end != End::kKilled) break;
//     }

#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

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

}  // namespace flotilla
