#include "flotilla/base/thread.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "flotilla/base/error.h"

namespace flotilla {
namespace {

using testing::AllOf;
using testing::HasSubstr;
TEST(Thread, RunsWhatItIsGiven) {
  int done = 0;
  start_thread("counts", [&] { ++done; }).join();
  start_thread<std::thread>("counts", [&] { ++done; }).join();
  EXPECT_EQ(done, 2);
  require_threads(4, "count");
}

// In a process of its own, whose address space leaves no room for another stack.
template <typename F>
std::string refusal_without_space(F f) {
  int ends[2] = {};
  EXPECT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    const rlimit none = {.rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &none);
    std::string text = "nothing was thrown";
    try {
      f();
    } catch (const Error& error) {
      text = error.sentence();
    }
    [[maybe_unused]] const ssize_t written = write(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t got = read(ends[0], text.data(), text.size());
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, got)));
  close(ends[0]);
  waitpid(pid, nullptr, 0);
  return text;
}

TEST(Thread, ARefusalIsASentenceWithTheLimits) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need address space of their own; the dev preset runs it";
#endif
  constexpr int kMany = 1000;  // some stacks of earlier threads are still mapped
  const auto start_many = [] {
    auto* kept = new std::vector<std::jthread>;  // the process goes without joining them
    for (int i = 0; i < kMany; ++i) kept->push_back(start_thread("waits", [] { pause(); }));
  };
  EXPECT_THAT(refusal_without_space(start_many),
              AllOf(HasSubstr("cannot start the thread that waits: "),
                    HasSubstr("`ulimit -v` (KiB of address space) is 1024")));
  EXPECT_THAT(
      refusal_without_space([] { require_threads(kMany, "count"); }),
      AllOf(HasSubstr("cannot start more than "), HasSubstr(" of the 1000 threads that count: ")));
}

}  // namespace
}  // namespace flotilla
