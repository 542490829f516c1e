#include "flotilla/fleet/role.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "flotilla/testing/errors.h"

namespace flotilla::fleet {
namespace {

using testing::ElementsAre;

// Sets variables for one test; no other thread runs.
class RoleTest : public testing::Test {
 protected:
  ~RoleTest() override {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  void unset(const std::string& name) { unsetenv(name.c_str()); }

  void set_servers(const std::string& role) {
    set("PADDLE_PSERVERS_IP_PORT_LIST", "10.0.0.1:36011,10.0.0.2:36011");
    set("PADDLE_TRAINERS_NUM", "2");
    set("TRAINING_ROLE", role);
  }

 private:
  std::vector<std::string> names_;
};

TEST_F(RoleTest, IsAloneWithoutVariables) {
  for (const bool collective : {true, false}) {
    const Role role = role_from_environment(collective);
    EXPECT_TRUE(role.is_first_worker());
    EXPECT_FALSE(role.is_server());
    EXPECT_FALSE(role.distributed());
    EXPECT_EQ(role.workers, 1);
    EXPECT_EQ(role.nodes(), 1);
    EXPECT_EQ(role.collective, collective);
  }
  EXPECT_THAT(role_from_environment(true).worker_endpoints, ElementsAre("127.0.0.1:6170"));
  EXPECT_EQ(role_from_environment(false).text(),
            "role: 1, current_id: 0, worker_endpoints: [], server_endpoints: []");
}

TEST_F(RoleTest, ReadsACollectiveJob) {
  set("PADDLE_TRAINER_ENDPOINTS", "10.0.0.1:6170,10.0.0.1:6171,10.0.0.2:6170");
  set("PADDLE_TRAINERS_NUM", "3");
  set("PADDLE_TRAINER_ID", "1");
  set("PADDLE_CURRENT_ENDPOINT", "10.0.0.1:6171");
  set("PADDLE_RANK_IN_NODE", "1");
  set("FLAGS_selected_gpus", "1");
  const Role role = role_from_environment(true);
  EXPECT_EQ(role.index, 1);
  EXPECT_EQ(role.workers, 3);
  EXPECT_EQ(role.nodes(), 2);
  EXPECT_EQ(role.local_rank, 1);
  EXPECT_EQ(role.endpoint, "10.0.0.1:6171");
  EXPECT_THAT(role.local_devices, ElementsAre("1"));
  EXPECT_EQ(data_role_from_environment().index, 1);
}

TEST_F(RoleTest, RefusesContradictionsOfACollectiveJob) {
  set("PADDLE_TRAINERS_NUM", "2");
  EXPECT_REFUSED(
      role_from_environment(true),
      "PADDLE_TRAINERS_NUM is 2, but PADDLE_TRAINER_ENDPOINTS does not say where they are");
  set("PADDLE_TRAINER_ENDPOINTS", "a:1,a:2,a:3");
  EXPECT_REFUSED(role_from_environment(true),
                 "PADDLE_TRAINERS_NUM is 2, but PADDLE_TRAINER_ENDPOINTS names 3");
  unset("PADDLE_TRAINERS_NUM");
  set("PADDLE_TRAINER_ID", "3");
  EXPECT_REFUSED(role_from_environment(true),
                 "PADDLE_TRAINER_ID is 3, but the number of trainers is 3");
  set("PADDLE_TRAINER_ID", "two");
  EXPECT_REFUSED(role_from_environment(true),
                 "PADDLE_TRAINER_ID must be a number from 0 to 4096, but is \"two\"");
  set("PADDLE_TRAINER_ID", "2");
  set("PADDLE_CURRENT_ENDPOINT", "a:1");
  EXPECT_REFUSED(role_from_environment(true),
                 "PADDLE_CURRENT_ENDPOINT is a:1, but entry 2 of PADDLE_TRAINER_ENDPOINTS "
                 "(PADDLE_TRAINER_ID) is a:3");
  set("PADDLE_CURRENT_ENDPOINT", "a:3");
  set("PADDLE_TRAINER_ENDPOINTS", "a:1,a:1,a:3");
  EXPECT_REFUSED(role_from_environment(true), "PADDLE_TRAINER_ENDPOINTS names a:1 twice");
  set("PADDLE_TRAINER_ENDPOINTS", "a:1,a:01,a:3");
  EXPECT_REFUSED(role_from_environment(true), "PADDLE_TRAINER_ENDPOINTS names a:1 twice");
  set("PADDLE_TRAINER_ENDPOINTS", "a:1,,a:3");
  EXPECT_REFUSED(role_from_environment(true),
                 "PADDLE_TRAINER_ENDPOINTS must be a list with commas between its entries, but "
                 "\"a:1,,a:3\" has an empty one");
  set("PADDLE_TRAINER_ENDPOINTS", ",");
  EXPECT_REFUSED(role_from_environment(true),
                 "PADDLE_TRAINER_ENDPOINTS must be a list with commas between its entries, but "
                 "\",\" has an empty one");
  set("PADDLE_TRAINER_ENDPOINTS", "a:1,a:2,a:3,");
  EXPECT_EQ(role_from_environment(true).workers, 3);
  set("PADDLE_TRAINER_ENDPOINTS", "a:1,b,a:3");
  EXPECT_REFUSED(role_from_environment(true),
                 "PADDLE_TRAINER_ENDPOINTS must be host:port entries, but holds \"b\"");
  set("TRAINING_ROLE", "PSERVER");
  EXPECT_REFUSED(role_from_environment(true),
                 "a collective job has only trainers, but TRAINING_ROLE is \"PSERVER\"");
}

TEST_F(RoleTest, ReadsATrainerAndAServer) {
  set_servers("TRAINER");
  set("PADDLE_TRAINER_ID", "1");
  const Role trainer = role_from_environment(false);
  EXPECT_TRUE(trainer.is_worker());
  EXPECT_FALSE(trainer.is_first_worker());
  EXPECT_EQ(trainer.workers, 2);
  EXPECT_EQ(trainer.servers(), 2);
  EXPECT_TRUE(trainer.distributed());

  set_servers("PSERVER");
  set("POD_IP", "10.0.0.2");
  set("PADDLE_PORT", "36011");
  const Role server = role_from_environment(false);
  EXPECT_TRUE(server.is_server());
  EXPECT_EQ(server.index, 1);
  EXPECT_EQ(server.endpoint, "10.0.0.2:36011");
}

TEST_F(RoleTest, RefusesContradictionsOfAJobWithServers) {
  set_servers("TRAINER");
  EXPECT_REFUSED(role_from_environment(false),
                 "PADDLE_TRAINER_ID must be set because this process is a trainer");
  set("PADDLE_TRAINER_ID", "2");
  EXPECT_REFUSED(role_from_environment(false),
                 "PADDLE_TRAINER_ID is 2, but PADDLE_TRAINERS_NUM is 2");
  set_servers("BOSS");
  EXPECT_REFUSED(
      role_from_environment(false),
      "TRAINING_ROLE must be TRAINER, PSERVER, HETER_TRAINER or COORDINATOR, but is \"BOSS\"");
  set_servers("PSERVER");
  set("POD_IP", "10.0.0.3");
  set("PADDLE_PORT", "36011");
  EXPECT_REFUSED(role_from_environment(false),
                 "this server is 10.0.0.3:36011, which is not in PADDLE_PSERVERS_IP_PORT_LIST: "
                 "10.0.0.1:36011,10.0.0.2:36011");
  unset("TRAINING_ROLE");
  EXPECT_REFUSED(role_from_environment(false),
                 "TRAINING_ROLE must be set because PADDLE_PSERVERS_IP_PORT_LIST names servers");
}

TEST_F(RoleTest, RefusesListsOfServersThatNameNobody) {
  set_servers("TRAINER");
  set("PADDLE_TRAINER_ID", "0");
  set("PADDLE_PSERVERS_IP_PORT_LIST", ",,");
  EXPECT_REFUSED(role_from_environment(false),
                 "PADDLE_PSERVERS_IP_PORT_LIST must be a list with commas between its entries, but "
                 "\",,\" has an empty one");
}

TEST_F(RoleTest, RefusesAServerOfAJobWithoutServers) {
  set("TRAINING_ROLE", "PSERVER");
  EXPECT_REFUSED(role_from_environment(false),
                 "TRAINING_ROLE is PSERVER, but PADDLE_PSERVERS_IP_PORT_LIST names no servers");
  set("TRAINING_ROLE", "TRAINER");
  EXPECT_EQ(role_from_environment(false).workers, 1);
  set("PADDLE_TRAINING_ROLE", "PSERVER");
  EXPECT_REFUSED(role_from_environment(false),
                 "PADDLE_TRAINING_ROLE is PSERVER, but PADDLE_PSERVER_IPS names no servers");
}

TEST_F(RoleTest, ReadsHostsOfServersAndTheirPort) {
  set("TRAINING_ROLE", "PSERVER");
  set("PADDLE_PSERVERS", "10.0.0.1,10.0.0.2");
  set("PADDLE_TRAINERS_NUM", "2");
  set("PADDLE_PORT", "36011");
  set("POD_IP", "10.0.0.2");
  const Role server = role_from_environment(false);
  EXPECT_TRUE(server.is_server());
  EXPECT_EQ(server.index, 1);
  EXPECT_THAT(server.server_endpoints, ElementsAre("10.0.0.1:36011", "10.0.0.2:36011"));
  set("POD_IP", "10.0.0.3");
  EXPECT_REFUSED(role_from_environment(false),
                 "this server is 10.0.0.3:36011, which is not in PADDLE_PSERVERS: "
                 "10.0.0.1:36011,10.0.0.2:36011");
}

TEST_F(RoleTest, ReadsTheVariablesOf2018) {
  set("PADDLE_TRAINING_ROLE", "PSERVER");
  set("PADDLE_PSERVER_IPS", "ps0.example,ps1.example");
  set("PADDLE_TRAINERS", "2");
  set("PADDLE_CURRENT_IP", "ps1.example");
  const Role server = role_from_environment(false);
  EXPECT_TRUE(server.is_server());
  EXPECT_EQ(server.index, 1);
  EXPECT_EQ(server.endpoint, "ps1.example:6174");
  set("PADDLE_TRAINING_ROLE", "TRAINER");
  set("PADDLE_TRAINER_ID", "1");
  set("PADDLE_PSERVER_PORT", "7000");
  const Role trainer = role_from_environment(false);
  EXPECT_EQ(trainer.index, 1);
  EXPECT_THAT(trainer.server_endpoints, ElementsAre("ps0.example:7000", "ps1.example:7000"));
  EXPECT_EQ(data_role_from_environment().workers, 2);
}

TEST_F(RoleTest, DividesDataByRankAndSizeAlone) {
  EXPECT_EQ(data_role_from_environment().workers, 1);
  set("PADDLE_TRAINERS_NUM", "4");
  set("PADDLE_TRAINER_ID", "3");
  EXPECT_EQ(data_role_from_environment().index, 3);
  EXPECT_EQ(data_role_from_environment().workers, 4);
  set("PADDLE_TRAINER_ID", "4");
  EXPECT_REFUSED(data_role_from_environment(),
                 "PADDLE_TRAINER_ID is 4, but PADDLE_TRAINERS_NUM is 4");
}

TEST(RoleCheckTest, RefusesARoleThatContradictsItself) {
  EXPECT_REFUSED(check({.index = 2, .workers = 2}, "UserDefinedRoleMaker"),
                 "UserDefinedRoleMaker: current_id must lie in [0, 2), but is 2");
  EXPECT_REFUSED(check({.workers = 2, .worker_endpoints = {"a:1"}}, "UserDefinedRoleMaker"),
                 "UserDefinedRoleMaker: there are 2 workers, but 1 endpoints of workers");
  EXPECT_REFUSED(check({.server_endpoints = {"a"}}, "UserDefinedRoleMaker"),
                 "UserDefinedRoleMaker: server_endpoints must be host:port entries, but holds "
                 "\"a\"");
}

}  // namespace
}  // namespace flotilla::fleet
