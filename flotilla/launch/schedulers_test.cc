#include "flotilla/launch/schedulers.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>

#include "flotilla/testing/errors.h"

namespace flotilla::launch {
namespace {

using Variables = std::map<std::string, std::string>;

// What srun gives the launcher of the second of three hosts.
const Variables kSlurm = {{"SLURM_JOB_ID", "42"},        {"SLURM_STEP_ID", "7"},
                          {"SLURM_NODEID", "1"},         {"SLURM_NNODES", "3"},
                          {"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_JOB_NODELIST", "node[01-02,7]"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}};

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

// No other thread runs.
JobOptions parse(const Variables& variables, std::vector<std::string> words = {},
                 Front front = Front::kLaunch) {
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  words.push_back("train.py");
  struct Unset {
    const Variables& variables;
    ~Unset() {
      for (const auto& [name, value] : variables) unsetenv(name.c_str());
    }
  } const unset{variables};
  return parse_options(words, front);
}

TEST(SchedulersTest, HostsOfSlurmMeetAtTheFirst) {
  const JobOptions options = parse(kSlurm);
  EXPECT_EQ(options.master, "node01:6069");
  EXPECT_EQ(options.nnodes, "3");
  EXPECT_EQ(options.rank, 1);
  EXPECT_EQ(options.job_id, "slurm 42.7");
  const Variables step = {{"SLURM_STEP_NODELIST", "node[3-4]"},
                          {"SLURM_STEP_NUM_NODES", "2"},
                          {"SLURM_STEP_NUM_TASKS", "2"},
                          {"FLT_STORE_PORT", "7000"}};
  EXPECT_EQ(parse(with(kSlurm, step)).master, "node3:7000") << "a step may have some hosts only";
  EXPECT_EQ(parse(with(kSlurm, step)).nnodes, "2");
}

TEST(SchedulersTest, WhatTheCommandLineSaysCounts) {
  EXPECT_EQ(parse(kSlurm, {"--ips=a,b"}).master, std::nullopt);
  EXPECT_EQ(parse(kSlurm, {"--nnodes=1"}).master, std::nullopt);
  const JobOptions options = parse(kSlurm, {"--master=a:1", "--rank=2", "--job_id=mine"});
  EXPECT_EQ(options.master, "a:1");
  EXPECT_EQ(options.nnodes, "3");
  EXPECT_EQ(options.rank, 2);
  EXPECT_EQ(options.job_id, "mine");
  EXPECT_EQ(parse(kSlurm, {}, Front::kSpawn).master, std::nullopt);
}

TEST(SchedulersTest, OneLauncherIsAlone) {
  EXPECT_EQ(parse(with(kSlurm, {{"SLURM_STEP_ID", ""}})).master, std::nullopt) << "a batch script";
  const Variables one = {{"SLURM_NNODES", "1"}, {"SLURM_STEP_NUM_TASKS", "1"}};
  EXPECT_EQ(parse(with(kSlurm, one)).master, std::nullopt);
  EXPECT_EQ(parse(with(kOpenMpi, {{"OMPI_COMM_WORLD_SIZE", "1"}})).nnodes, std::nullopt);
}

TEST(SchedulersTest, HostsOfOpenMpiMeetAtTheMasterOrWhereSlurmSays) {
  const JobOptions options = parse(kOpenMpi, {"--master=a:1"});
  EXPECT_EQ(options.nnodes, "4");
  EXPECT_EQ(options.rank, 2);
  const JobOptions inside = parse(with(kOpenMpi, {{"SLURM_JOB_NODELIST", "n[1-4]"}}));
  EXPECT_EQ(inside.master, "n1:6069");
  EXPECT_EQ(inside.rank, 2);
}

TEST(SchedulersTest, RefuseInOneSentence) {
  EXPECT_REFUSED(parse(kOpenMpi),
                 "Open MPI started launchers on 4 hosts, but no variable names them: give all of "
                 "them the same --master host:port");
  EXPECT_REFUSED(parse(with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}})),
                 "Open MPI started 4 launchers on one host, but a launcher starts all processes of "
                 "its host: start one on each host, as mpirun --map-by ppr:1:node fleetrun ... "
                 "does, or give --nnodes 1 to run separate jobs");
  EXPECT_REFUSED(parse(with(kSlurm, {{"SLURM_STEP_NUM_TASKS", "6"}})),
                 "Slurm started 6 launchers on 3 hosts, but a launcher starts all processes of its "
                 "host: start one on each host, as srun --ntasks-per-node=1 fleetrun ... does, or "
                 "give --nnodes 1 to run separate jobs");
  EXPECT_REFUSED(parse(with(kSlurm, {{"SLURM_NODEID", "3"}})),
                 "Slurm numbers this host 3, but of 3 hosts");
  EXPECT_REFUSED(parse(with(kSlurm, {{"SLURM_JOB_NODELIST", "a,b"}})),
                 "Slurm started launchers on 3 hosts, but SLURM_JOB_NODELIST is a,b");
}

}  // namespace
}  // namespace flotilla::launch
