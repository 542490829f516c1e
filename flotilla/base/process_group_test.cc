#include "flotilla/base/process_group.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace flotilla {
namespace {

namespace fs = std::filesystem;

// How many processes have been started with this word as their last argument.
int running(const std::string& word) {
  int found = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "cmdline");
    const std::string line(std::istreambuf_iterator<char>(in), {});
    if (line.ends_with(word + std::string(1, '\0'))) ++found;
  }
  return found;
}

bool become(const std::string& word, int count) {
  for (int i = 0; i < 500 && running(word) != count; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return running(word) == count;
}

// Three sleeping processes: a member and two children, one of them started with `how`.
pid_t start(const ProcessGroup& group, const std::string& word, const std::string& how = "setsid") {
  SpawnPlan plan(group.id());
  std::string shell = "sh", option = "-c",
              script = fmt::format("sleep {0} & {1} sleep {0} & exec sleep {0}", word, how);
  std::string mark = group.mark(), path = "PATH=/usr/bin:/bin";
  char* const arguments[] = {shell.data(), option.data(), script.data(), nullptr};
  char* const environment[] = {mark.data(), path.data(), nullptr};
  pid_t pid = -1;
  EXPECT_EQ(posix_spawn(&pid, "/bin/sh", &plan.actions, &plan.attributes, arguments, environment),
            0);
  return pid;
}

TEST(ProcessGroup, EndsItsMembersAndWhatTheyStarted) {
  const std::string word = fmt::format("{}.125", 100000 + getpid());
  ProcessGroup group;
  const pid_t pid = start(group, word);
  EXPECT_TRUE(become(word, 3));
  group.end();
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
  EXPECT_TRUE(become(word, 0));
}

TEST(ProcessGroup, EndsWithItsOwnerThoughAForkLivesOn) {
  const std::string word = fmt::format("{}.375", 100000 + getpid());
  const pid_t owner = fork();
  if (owner == 0) {
    close(STDOUT_FILENO);  // whoever reads it does not wait for the fork
    ProcessGroup group;
    start(group, word);
    if (fork() == 0) {
      alarm(30);  // nobody else ends it
      group.end();
      for (;;) pause();
    }
    for (;;) pause();
  }
  EXPECT_TRUE(become(word, 3));
  EXPECT_EQ(kill(owner, SIGKILL), 0);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(become(word, 0));
}

TEST(ProcessGroup, EndsItsMembersWhereItsLeaderWasKilled) {
  const std::string word = fmt::format("{}.625", 100000 + getpid());
  ProcessGroup group;
  start(group, word, "nohup");
  EXPECT_TRUE(become(word, 3));
  EXPECT_EQ(kill(group.id(), SIGKILL), 0);
  group.end();
  EXPECT_TRUE(become(word, 0));
}

}  // namespace
}  // namespace flotilla
