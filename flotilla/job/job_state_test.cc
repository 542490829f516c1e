// Processes as threads against a real store.

#include "flotilla/job/job_state.h"

#include <gmock/gmock.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/rpc/store_server.h"
#include "flotilla/testing/patience.h"

namespace flotilla::job {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class JobStateTest : public testing::Test {
 protected:
  Membership::Options member(const char* role, int64_t rank) {
    return {.address = server.address(),
            .token = "secret",
            .self = {.role = role, .rank = rank, .host = "here", .pid = 1000 + rank}};
  }

  rpc::StoreServer server{{.token = "secret"}};
};

TEST_F(JobStateTest, WhatOneSetsTheOtherWaitsFor) {
  Membership one(member("worker", 0)), other(member("server", 0));
  JobState job_state(one), far(other);
  auto waited =
      std::async(std::launch::async, [&] { return far.wait_for("ready", "waits for the tables"); });
  job_state.set("ready", "1");
  EXPECT_EQ(waited.get(), "1");
  EXPECT_EQ(far.find("ready"), "1");
  EXPECT_EQ(far.find("server/0"), std::nullopt);
}

TEST_F(JobStateTest, ALeaseGoesWithItsProcess) {
  Membership other(member("server", 0));
  JobState far(other);
  std::promise<void> gone;
  far.on_change([&](const std::string& key, const std::optional<std::string>& value) {
    if (key == "alive/3" && !value) gone.set_value();
  });
  {
    Membership one(member("worker", 3));
    JobState job_state(one);
    job_state.set_leased("alive/3", "0");
    far.wait_for("alive/3", "waits");
  }
  EXPECT_TRUE(ready_soon(gone.get_future()));
  EXPECT_TRUE(far.entries().empty());
}

TEST_F(JobStateTest, WaitsEndWithTheJob) {
  Membership one(member("worker", 0));
  JobState job_state(one);
  auto waited =
      std::async(std::launch::async, [&] { job_state.wait_for("ready", "waits for tables"); });
  server.stop("worker 1 failed");
  try {
    waited.get();
    FAIL() << "it waited for nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
    EXPECT_THAT(error.what(), HasSubstr("worker 1 failed; this process waits for tables"));
  }
}

TEST_F(JobStateTest, WhoeverWaitsCanBeInterrupted) {
  Membership one(member("worker", 0));
  int looked = 0;
  JobState job_state(one, [&] {
    if (++looked == 3) throw std::runtime_error("Ctrl-C");
  });
  EXPECT_THROW(job_state.wait_for("ready", "waits"), std::runtime_error);
}

TEST_F(JobStateTest, TheStoreMayReportAfterItsEnd) {
  Membership one(member("worker", 0)), other(member("worker", 1));
  JobState far(other);
  { JobState job_state(one); }
  far.set("ready", "1");
  far.wait_for("ready", "waits");
}

}  // namespace
}  // namespace flotilla::job
