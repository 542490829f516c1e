#include "flotilla/launch/environment.h"

#include <gmock/gmock.h>
#include <stdlib.h>

namespace flotilla::launch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

Job job_of(std::vector<std::string> hosts) {
  Job job;
  job.hosts = std::move(hosts);
  return job;
}

TEST(EnvironmentTest, WhatAProcessIsGivenTakesThePlaceOfWhatWasThere) {
  ::setenv("PADDLE_TRAINER_ID", "before", 1);
  ::setenv("http_proxy", "proxy:1", 1);
  const Process process{.role = "worker", .rank = 3, .shown = {{"PADDLE_TRAINER_ID", "3"}}};
  const Surroundings around{.store = "127.0.0.1:7", .token = "t", .token_is_made = true};
  const auto found = environment_of(job_of({"a"}), process, 2, around);
  ::unsetenv("PADDLE_TRAINER_ID");
  ::unsetenv("http_proxy");
  for (const char* expected :
       {"PADDLE_TRAINER_ID=3", "FLT_STORE=127.0.0.1:7", "FLT_JOB_TOKEN=t", "FLT_MADE_TOKEN=t",
        "FLT_ROLE=worker", "FLT_RANK=3", "FLT_ATTEMPT=2"}) {
    EXPECT_THAT(found, Contains(expected));
  }
  EXPECT_THAT(found, Not(Contains("PADDLE_TRAINER_ID=before")));
  EXPECT_THAT(found, Not(Contains(StartsWith("http_proxy="))));
  EXPECT_THAT(found, Not(Contains(StartsWith("FLT_PS_DIR="))));
}

TEST(EnvironmentTest, ServersAreToldWhereTheyKeepTheirTables) {
  const Process process{.role = "server"};
  Surroundings around{.server_folder = "/tables", .folder_is_temporary = true};
  ::unsetenv("FLT_PS_SYNC");
  EXPECT_THAT(environment_of(job_of({"a"}), process, 0, around),
              testing::IsSupersetOf({"FLT_PS_DIR=/tables", "FLT_PS_SYNC=off"}));
  around.folder_is_temporary = false;
  EXPECT_THAT(environment_of(job_of({"a"}), process, 0, around), Not(Contains("FLT_PS_SYNC=off")));
}

TEST(EnvironmentTest, OnlyHostsOfTheJobAreAnsweredWhereThereIsNoSecret) {
  EXPECT_THAT(only_from(job_of({"a"})), IsEmpty());
  EXPECT_THAT(only_from(job_of({"a", "b"})), ElementsAre("a", "b", "127.0.0.1"));
  Job agreed = job_of({"a", "b"});
  agreed.token = "t";
  EXPECT_THAT(only_from(agreed), IsEmpty());
}

}  // namespace
}  // namespace flotilla::launch
