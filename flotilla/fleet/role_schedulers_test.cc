#include "flotilla/fleet/role_schedulers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "flotilla/testing/errors.h"

namespace flotilla::fleet {
namespace {

using Variables = std::map<std::string, std::string>;

// Sets variables for its own life; no other thread runs.
class Environment {
 public:
  explicit Environment(const Variables& variables) : variables_(variables) {
    for (const auto& [name, value] : variables_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : variables_) unsetenv(name.c_str());
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const Variables variables_;
};

const Variables kSlurm = {{"SLURM_PROCID", "5"},        {"SLURM_NTASKS", "6"},
                          {"SLURM_LOCALID", "1"},       {"SLURM_STEP_ID", "0"},
                          {"SLURM_JOB_NODELIST", "n1"}, {"SLURM_STEP_NODELIST", "n[1-3]"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
const Variables kCloud = {{"PADDLE_TRAINERS", "10.0.0.1,10.0.0.2"},
                          {"PADDLE_TRAINER_ID", "1"},
                          {"TRAINER_PORTS_NUM", "20"},
                          {"PADDLE_PORT", "2379"},
                          {"POD_IP", "10.0.0.2"}};

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  std::erase_if(variables, [](const auto& variable) { return variable.second.empty(); });
  return variables;
}

TEST(SchedulersTest, ReadWhatSchedulersSay) {
  struct Case {
    Variables variables;
    std::string started_by;
    int64_t rank, size, local_rank, nodes;
    std::vector<std::string> hosts, endpoints;
  };
  const std::vector<Case> cases = {
      {kSlurm, "Slurm", 5, 6, 1, 3, {"n1", "n2", "n3"}, {}},
      {with(kSlurm, {{"SLURM_STEP_NODELIST", ""}}), "Slurm", 5, 6, 1, 1, {"n1"}, {}},
      {with(kSlurm, {{"SLURM_STEP_NUM_TASKS", "8"}}), "Slurm", 5, 8, 1, 3, {"n1", "n2", "n3"}, {}},
      {with(kSlurm, {{"SLURM_STEP_NODELIST", ""}, {"SLURM_JOB_NODELIST", ""}}),
       "Slurm",
       5,
       6,
       1,
       1,
       {},
       {}},
      {kOpenMpi, "Open MPI", 2, 4, 2, 1, {"127.0.0.1"}, {}},
      {with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}}), "Open MPI", 2, 4, 2, 1, {}, {}},
      // mpirun inside of an allocation of Slurm's.
      {with(kSlurm, kOpenMpi), "Open MPI", 2, 4, 2, 1, {"127.0.0.1"}, {}},
      {kCloud, "", 1, 2, 0, 2, {}, {"10.0.0.1:2379", "10.0.0.2:2379"}},
      {with(kCloud, {{"PADDLE_PORT", ""}}), "", 1, 2, 0, 2, {}, {"10.0.0.1:6170", "10.0.0.2:6170"}},
      {with(kCloud, {{"PADDLE_TRAINER_ENDPOINTS", "a:1,b:2"}}), "", 1, 2, 0, 2, {}, {"a:1", "b:2"}},
      {{{"DISTRIBUTED_TRAINER_ENDPOINTS", "a:1,b:2"}}, "", 0, 2, 0, 2, {}, {"a:1", "b:2"}},
      // Only the address of the first is known.
      {{{"PADDLE_MASTER", "a:1"}, {"PADDLE_TRAINER_ID", "1"}, {"PADDLE_TRAINERS_NUM", "2"}},
       "",
       1,
       2,
       0,
       1,
       {},
       {}},
      // What the launcher gives its children counts more than what started the launcher.
      {with(kSlurm, {{"PADDLE_TRAINER_ENDPOINTS", "a:1,a:2"}, {"PADDLE_TRAINER_ID", "1"}}),
       "",
       1,
       2,
       0,
       1,
       {},
       {"a:1", "a:2"}},
      // A batch script runs once, whatever it is the script of.
      {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "6"}, {"SLURM_JOB_NODELIST", "n[1-3]"}},
       "",
       0,
       1,
       0,
       1,
       {},
       {"127.0.0.1:6170"}},
  };
  for (const Case& c : cases) {
    const Environment environment(c.variables);
    const Role role = role_from_environment(true);
    SCOPED_TRACE(testing::PrintToString(c.variables));
    EXPECT_TRUE(role.collective && role.is_worker());
    EXPECT_EQ(role.started_by, c.started_by);
    EXPECT_EQ(role.index, c.rank);
    EXPECT_EQ(role.workers, c.size);
    EXPECT_EQ(role.local_rank, c.local_rank);
    EXPECT_EQ(role.nodes(), c.nodes);
    EXPECT_EQ(role.hosts, c.hosts);
    EXPECT_EQ(role.worker_endpoints, c.endpoints);
    EXPECT_EQ(data_role_from_environment().index, c.rank);
    EXPECT_EQ(data_role_from_environment().workers, c.size);
  }
}

TEST(SchedulersTest, RefuseContradictionsInOneSentence) {
  struct Case {
    Variables variables;
    std::string sentence;
  };
  const std::vector<Case> cases = {
      {with(kSlurm, {{"SLURM_PROCID", "6"}}), "SLURM_PROCID is 6, but SLURM_NTASKS is 6"},
      {with(kSlurm, {{"SLURM_PROCID", "six"}}),
       "SLURM_PROCID must be a number from 0 to 4096, but is \"six\""},
      {with(kSlurm, {{"SLURM_NTASKS", ""}}),
       "SLURM_PROCID is set, so this is a task of Slurm, but SLURM_NTASKS does not say of how "
       "many"},
      {with(kSlurm, {{"SLURM_PROCID", "0"}}), "SLURM_LOCALID is 1, but SLURM_PROCID is only 0"},
      {with(kSlurm, {{"SLURM_STEP_NODELIST", "n[1-"}}),
       "SLURM_STEP_NODELIST must be a list of machines such as node[1-3,7],login, but is \"n[1-\""},
      {with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "4"}}),
       "OMPI_COMM_WORLD_RANK is 4, but OMPI_COMM_WORLD_SIZE is 4"},
      {with(kCloud, {{"POD_IP", "10.0.0.3"}}),
       "POD_IP is 10.0.0.3, but entry 1 of PADDLE_TRAINERS (PADDLE_TRAINER_ID) is \"10.0.0.2\""},
      {with(kCloud, {{"PADDLE_TRAINER_ID", "2"}}),
       "PADDLE_TRAINER_ID is 2, but the number of trainers is 2"},
      {with(kCloud, {{"PADDLE_TRAINERS_NUM", "3"}}),
       "PADDLE_TRAINERS_NUM is 3, but PADDLE_TRAINERS names 2"},
      {with(kCloud, {{"TRAINING_ROLE", "PSERVER"}}),
       "a collective job has only trainers, but TRAINING_ROLE is \"PSERVER\""},
  };
  for (const Case& c : cases) {
    const Environment environment(c.variables);
    EXPECT_REFUSED(role_from_environment(true), c.sentence);
  }
  const Environment environment(kSlurm);
  EXPECT_REFUSED(
      role_from_environment(false),
      "Slurm started 6 processes of a job with parameter servers, but "
      "PADDLE_PSERVERS_IP_PORT_LIST and TRAINING_ROLE do not say which of them are servers");
}

}  // namespace
}  // namespace flotilla::fleet
