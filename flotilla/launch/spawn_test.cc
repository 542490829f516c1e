#include "flotilla/launch/spawn.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "flotilla/base/cgroup.h"
#include "flotilla/base/error.h"

namespace flotilla::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoCgroup = "no cgroup v2 may be made below that of this process";

bool soon(const std::function<bool()>& true_now) {
  for (int i = 0; i < 500 && !true_now(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true_now();
}

// Starts a process of its own that only a cgroup ties to it, and writes its number into `file`.
Command leaves_one(const fs::path& file, const std::string& cgroup, const std::string& then) {
  const std::string inner = "echo $$ >" + file.string() + "; exec sleep 1000";
  return {.words = {"sh", "-c", "env -i setsid sh -c '" + inner + "' & " + then},
          .environment = {"PATH=/usr/bin:/bin"},
          .cgroup = cgroup};
}

// The number in `file`, once it is there.
pid_t left_one(const fs::path& file) {
  pid_t pid = 0;
  soon([&] { return static_cast<bool>(std::ifstream(file) >> pid); });
  return pid;
}

bool runs(pid_t pid) { return fs::exists("/proc/" + std::to_string(pid) + "/exe"); }

// How many cgroups a process has made beside its own that are still there.
int64_t groups_of(pid_t pid) {
  const std::string name = "flotilla-" + std::to_string(pid) + "-";
  const fs::directory_iterator entries(own_cgroup());
  return std::count_if(begin(entries), end(entries), [&](const fs::directory_entry& entry) {
    return entry.path().filename().string().starts_with(name);
  });
}

TEST(SpawnTest, WhatAProcessLeavesBehindEndsWithIt) {
  const fs::path file = fs::path(testing::TempDir()) / ("left." + std::to_string(getpid()));
  std::string cgroup;
  {
    const Guardian guardian;
    cgroup = guardian.cgroup();
    if (cgroup.empty()) GTEST_SKIP() << kNoCgroup;
    const std::string then = "until [ -s " + file.string() + " ]; do sleep 0.01; done";
    Child child(leaves_one(file, cgroup, then));
    EXPECT_TRUE(child.wait().ok());
    const pid_t left = left_one(file);
    EXPECT_GT(left, 0);
    EXPECT_TRUE(soon([&] { return !runs(left); }));
    EXPECT_TRUE(fs::exists(cgroup));
  }
  EXPECT_FALSE(fs::exists(cgroup));
  fs::remove(file);
}

TEST(SpawnTest, WhatProcessesLeaveBehindEndsWithTheLauncher) {
  if (Guardian().cgroup().empty()) GTEST_SKIP() << kNoCgroup;
  const fs::path file = fs::path(testing::TempDir()) / ("left." + std::to_string(getpid()));
  const pid_t launcher = fork();
  if (launcher == 0) {
    const Guardian guardian;
    const Child child(leaves_one(file, guardian.cgroup(), "sleep 1000"));
    for (;;) pause();
  }
  const pid_t left = left_one(file);
  EXPECT_GT(left, 0);
  EXPECT_EQ(groups_of(launcher), 1);
  kill(launcher, SIGKILL);
  waitpid(launcher, nullptr, 0);
  EXPECT_TRUE(soon([&] { return !runs(left); }));
  EXPECT_TRUE(soon([&] { return groups_of(launcher) == 0; }));
  fs::remove(file);
}

TEST(SpawnTest, AProcessThatHasNoDescriptorsLeftSaysSo) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer needs a descriptor to look at memory";
#endif
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  std::string sentence = "started";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  try {
    const Child child({.words = {"true"}});
  } catch (const Error& error) {
    sentence = error.sentence();
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(sentence, "cannot create a pipe: Too many open files");
}

}  // namespace
}  // namespace flotilla::launch
