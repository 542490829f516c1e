#include "flotilla/rpc/job_token.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "flotilla/testing/errors.h"

namespace flotilla::rpc {
namespace {

class JobToken : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    ::unsetenv("FLT_JOB_TOKEN");
    ::unsetenv("FLT_MADE_TOKEN");
    ::unsetenv("FLT_REQUIRE_TOKEN");
  }
};

constexpr const char* kWarning =
    "FLT_JOB_TOKEN is not set: any user of 10.0.0.1 can join this job, read and change what it "
    "trains, and end it. Make a secret with `export FLT_JOB_TOKEN=$(openssl rand -hex 32)` and set "
    "the same one on every host";

TEST_F(JobToken, AnEmptySecretIsNone) {
  EXPECT_EQ(job_secret(), std::nullopt);
  ::setenv("FLT_JOB_TOKEN", "", 1);
  EXPECT_EQ(job_secret(), std::nullopt);
  ::setenv("FLT_JOB_TOKEN", "s", 1);
  EXPECT_EQ(job_secret(), "s");
}

TEST_F(JobToken, WhatALauncherMadeIsNone) {
  ::setenv("FLT_JOB_TOKEN", "made", 1);
  ::setenv("FLT_MADE_TOKEN", "made", 1);
  EXPECT_EQ(job_secret(), std::nullopt);
  ::setenv("FLT_JOB_TOKEN", "of the user", 1);
  EXPECT_EQ(job_secret(), "of the user") << "set inside of a job";
}

TEST_F(JobToken, AJobWithoutOneIsWarnedOfOrRefused) {
  EXPECT_EQ(without_secret("any user of 10.0.0.1"), kWarning);
  ::setenv("FLT_REQUIRE_TOKEN", "0", 1);
  EXPECT_EQ(without_secret("any user of 10.0.0.1"), kWarning);
  ::setenv("FLT_REQUIRE_TOKEN", "1", 1);
  EXPECT_REFUSED(without_secret("any user of 10.0.0.1"),
                 std::string("FLT_REQUIRE_TOKEN is 1, but ") + kWarning);
}

}  // namespace
}  // namespace flotilla::rpc
