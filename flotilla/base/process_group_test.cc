#include "flotilla/base/process_group.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "flotilla/base/cgroup.h"

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
  std::vector<std::string> words =
      group.shell(fmt::format("sleep {0} & {1} sleep {0} & exec sleep {0}", word, how));
  std::vector<char*> arguments;
  for (std::string& text : words) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  std::string mark = group.mark(), path = "PATH=/usr/bin:/bin";
  char* const environment[] = {mark.data(), path.data(), nullptr};
  pid_t pid = -1;
  EXPECT_EQ(
      posix_spawn(&pid, "/bin/sh", &plan.actions, &plan.attributes, arguments.data(), environment),
      0);
  return pid;
}

// Leaves its process group and its environment.
constexpr const char* kLeaves = "env -i setsid";
constexpr const char* kNoCgroup = "no cgroup v2 may be made below that of this process";

bool goes(const fs::path& folder) {
  for (int i = 0; i < 500 && fs::exists(folder); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return !fs::exists(folder);
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

TEST(ProcessGroup, EndsWhatLeftTheGroupAndItsEnvironment) {
  const std::string word = fmt::format("{}.1875", 100000 + getpid());
  ProcessGroup group;
  const fs::path entrance = group.entrance();
  if (entrance.empty()) GTEST_SKIP() << kNoCgroup;
  const pid_t pid = start(group, word, kLeaves);
  EXPECT_TRUE(become(word, 3));
  // As a member that makes groups of its own, and is gone.
  EXPECT_TRUE(fs::create_directories(entrance.parent_path() / "a" / "b"));
  group.end();
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
  EXPECT_TRUE(become(word, 0));
  EXPECT_FALSE(fs::exists(entrance.parent_path()));
}

TEST(ProcessGroup, EndsWhatLeftTheGroupAndItsEnvironmentWithItsOwner) {
  const std::string word = fmt::format("{}.3125", 100000 + getpid());
  const fs::path above = own_cgroup();
  if (above.empty() || ProcessGroup().entrance().empty()) GTEST_SKIP() << kNoCgroup;
  const pid_t owner = fork();
  if (owner == 0) {
    close(STDOUT_FILENO);
    ProcessGroup group;
    start(group, word, kLeaves);
    fs::create_directories(fs::path(group.entrance()).parent_path() / "a" / "b");
    for (;;) pause();
  }
  EXPECT_TRUE(become(word, 3));
  fs::path made;
  for (const fs::directory_entry& entry : fs::directory_iterator(above)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(fmt::format("flotilla-{}-", owner))) made = entry.path();
  }
  EXPECT_FALSE(made.empty());
  EXPECT_EQ(kill(owner, SIGKILL), 0);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(become(word, 0));
  EXPECT_TRUE(goes(made));
}

}  // namespace
}  // namespace flotilla
