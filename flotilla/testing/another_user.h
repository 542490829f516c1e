// flotilla/testing/another_user.h
//
// Another user of this host: a process that does one thing as nobody. Only root can make one.

#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "flotilla/base/fd.h"

namespace flotilla::testing {

inline constexpr uid_t kNobody = 65534;

#define FLT_NEEDS_ANOTHER_USER() \
  if (::geteuid() != 0) GTEST_SKIP() << "only root can act as another user; run it as root"

// Runs `act` in a process of its own as nobody, and then stays until it is destroyed. It was copied
// from a process with threads: `act` makes calls of the system only.
class AnotherUser {
 public:
  explicit AnotherUser(const std::function<bool()>& act) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    said_ = Fd(ends[0]);
    Fd says(ends[1]);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Of this thread, which is the only one: the library's own functions would ask the others.
    const bool another = ::syscall(SYS_setresgid, kNobody, kNobody, kNobody) == 0 &&
                         ::syscall(SYS_setresuid, kNobody, kNobody, kNobody) == 0;
    const char result = another && act() ? 'y' : 'n';
    [[maybe_unused]] const ssize_t written = ::write(says.get(), &result, 1);
    while (true) ::pause();
  }
  ~AnotherUser() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  AnotherUser(const AnotherUser&) = delete;
  AnotherUser& operator=(const AnotherUser&) = delete;

  // Waits for it: what `act` returned.
  bool done() {
    char result = 'n';
    return ::read(said_.get(), &result, 1) == 1 && result == 'y';
  }

 private:
  Fd said_;
  pid_t pid_ = -1;
};

}  // namespace flotilla::testing
