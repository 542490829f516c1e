#include "flotilla/launch/job.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/launch/print.h"

namespace flotilla::launch {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// Three addresses of this machine stand for three hosts.
Machine machine(const std::string& address = "127.0.0.1") {
  return {.cores = 8, .gpus = 0, .addresses = {address}, .python = "py"};
}

Job plan(std::vector<std::string> words, const Machine& where = machine()) {
  words.push_back("program");
  return plan_job(parse_options(words, Front::kLaunch), where);
}

std::string refusal(const std::vector<std::string>& words, const Machine& where = machine()) {
  try {
    plan(words, where);
  } catch (const Error& error) {
    return error.sentence();
  }
  return "no error";
}

std::vector<std::string> names(const Variables& variables) {
  std::vector<std::string> found;
  for (const auto& [name, value] : variables) found.push_back(name);
  return found;
}

std::map<std::string, std::string> all(const Process& process) {
  std::map<std::string, std::string> found(process.shown.begin(), process.shown.end());
  found.insert(process.hidden.begin(), process.hidden.end());
  return found;
}

TEST(JobTest, OneWorkerForEachGpu) {
  const Job job = plan({"--gpus", "0,1,2,3"});
  ASSERT_THAT(job.processes, SizeIs(4));
  std::vector<std::string> endpoints;
  for (const Process& process : job.processes) endpoints.push_back(process.listener.endpoint());
  for (size_t i = 0; i < 4; ++i) {
    const Process& process = job.processes[i];
    const auto variables = all(process);
    EXPECT_EQ(variables.at("PADDLE_TRAINER_ID"), std::to_string(i));
    EXPECT_EQ(variables.at("PADDLE_CURRENT_ENDPOINT"), endpoints[i]);
    EXPECT_EQ(variables.at("PADDLE_TRAINERS_NUM"), "4");
    EXPECT_EQ(variables.at("PADDLE_TRAINER_ENDPOINTS"),
              endpoints[0] + "," + endpoints[1] + "," + endpoints[2] + "," + endpoints[3]);
    EXPECT_EQ(variables.at("FLAGS_selected_gpus"), std::to_string(i));
    EXPECT_EQ(variables.at("OMP_NUM_THREADS"), "2");
    EXPECT_EQ(process.log, "workerlog." + std::to_string(i));
  }
  // The rows of the table in the document.
  EXPECT_THAT(
      names(job.processes[0].shown),
      UnorderedElementsAre("PADDLE_CURRENT_ENDPOINT", "PADDLE_TRAINERS_NUM",
                           "PADDLE_TRAINER_ENDPOINTS", "FLAGS_selected_gpus", "PADDLE_TRAINER_ID"));
  EXPECT_THAT(job.notices, ElementsAre(HasSubstr("this host has 0 GPUs: the processes run on")));
}

TEST(JobTest, TheVariablesOfTheThirdEraAreThereToo) {
  const Job job = plan({"--nproc_per_node=2"});
  for (const auto& [name, value] : std::map<std::string, std::string>{{"PADDLE_GLOBAL_RANK", "1"},
                                                                      {"PADDLE_GLOBAL_SIZE", "2"},
                                                                      {"PADDLE_LOCAL_RANK", "1"},
                                                                      {"PADDLE_LOCAL_SIZE", "2"},
                                                                      {"PADDLE_NNODES", "1"}}) {
    EXPECT_THAT(job.processes[1].hidden, Contains(Pair(name, value)));
  }
}

TEST(JobTest, GpusAreSharedOutToFewerProcesses) {
  const Job job = plan({"--gpus", "4,5,6,7", "--nproc_per_node", "2"});
  ASSERT_THAT(job.processes, SizeIs(2));
  EXPECT_EQ(all(job.processes[1]).at("FLAGS_selected_gpus"), "6,7");
  EXPECT_THAT(refusal({"--gpus", "0,1,2", "--nproc_per_node", "2"}),
              HasSubstr("2 does not divide 3"));
}

TEST(JobTest, ServersAndWorkersHaveTheVariablesOfTheDocument) {
  const Job job = plan({"--server_num=1", "--worker_num=2", "--gpus=0,1"});
  ASSERT_THAT(job.processes, SizeIs(3));
  const Process& server = job.processes[0];
  EXPECT_EQ(server.role, "server");
  EXPECT_EQ(server.log, "serverlog.0");
  EXPECT_THAT(names(server.shown),
              UnorderedElementsAre(
                  "PADDLE_TRAINERS_NUM", "TRAINING_ROLE", "POD_IP", "PADDLE_PSERVERS_IP_PORT_LIST",
                  "PADDLE_PORT", "PADDLE_HETER_TRAINER_IP_PORT_LIST", "PADDLE_TRAINER_ENDPOINTS"));
  EXPECT_THAT(server.shown,
              AllOf(Contains(Pair("TRAINING_ROLE", "PSERVER")),
                    Contains(Pair("PADDLE_PSERVERS_IP_PORT_LIST", server.listener.endpoint()))));
  const Process& worker = job.processes[2];
  EXPECT_THAT(
      worker.shown,
      AllOf(Contains(Pair("TRAINING_ROLE", "TRAINER")), Contains(Pair("PADDLE_TRAINER_ID", "1")),
            Contains(Pair("CUDA_VISIBLE_DEVICES", "1")), Contains(Pair("FLAGS_selected_gpus", "0")),
            Contains(Pair("PADDLE_HETER_TRAINER_IP_PORT_LIST", ""))));
}

TEST(JobTest, OnlyProcessesOfAJobWithServersHaveATrainingRole) {
  const Job job = plan({"--nproc_per_node=2"});
  EXPECT_THAT(names(job.processes.at(0).hidden), Not(Contains("TRAINING_ROLE")));
  EXPECT_THAT(plan({"--server_num=1", "--worker_num=1", "--heter_worker_num=0"}).processes,
              SizeIs(2));
}

TEST(JobTest, AHostFindsItselfInTheList) {
  const Job job = plan({"--ips=127.0.0.1,127.0.0.2", "--nproc_per_node=2"}, machine("127.0.0.2"));
  EXPECT_EQ(job.host, 1);
  ASSERT_THAT(job.processes, SizeIs(2));
  EXPECT_EQ(job.processes[0].rank, 2);
  EXPECT_EQ(all(job.processes[0]).at("PADDLE_TRAINER_ENDPOINTS"),
            "127.0.0.1:6070,127.0.0.1:6071,127.0.0.2:6070,127.0.0.2:6071");
  EXPECT_EQ(job.processes[0].log, "workerlog.0") << "logs count within a host";
  EXPECT_THAT(refusal({"--ips=10.0.0.1,10.0.0.2"}), HasSubstr("its own addresses are 127.0.0.1"));
  EXPECT_THAT(refusal({"--ips=127.0.0.1,127.0.0.2", "--host=10.0.0.9"}),
              HasSubstr("it was given as 10.0.0.9"));
}

TEST(JobTest, APodOfACloudFindsItsHostsInTheEnvironment) {
  const std::map<std::string, std::string> cloud = {{"PADDLE_TRAINERS", "127.0.0.2,127.0.0.1"},
                                                    {"PADDLE_TRAINER_ID", "1"},
                                                    {"TRAINER_PORTS_NUM", "20"},
                                                    {"PADDLE_PORT", "23790"},
                                                    {"POD_IP", "127.0.0.1"}};
  for (const auto& [name, value] : cloud) setenv(name.c_str(), value.c_str(), 1);
  const Job job = plan({});
  for (const auto& [name, value] : cloud) unsetenv(name.c_str());
  EXPECT_EQ(job.host, 1);
  EXPECT_THAT(job.processes[0].shown,
              Contains(Pair("PADDLE_TRAINER_ENDPOINTS", "127.0.0.2:23790,127.0.0.1:23790")));
  EXPECT_THAT(job.processes[0].shown, Contains(Pair("PADDLE_TRAINER_ID", "1")));
}

TEST(JobTest, ServersOfSeveralHostsAreDividedByTheirAddresses) {
  const Job job = plan({"--servers=127.0.0.1:6270,127.0.0.2:6270", "--workers=127.0.0.1,127.0.0.2"},
                       machine("127.0.0.2"));
  ASSERT_THAT(job.processes, SizeIs(2));
  EXPECT_EQ(job.processes[0].rank, 1);
  EXPECT_EQ(job.processes[0].listener.endpoint(), "127.0.0.2:6270");
  EXPECT_EQ(all(job.processes[1]).at("PADDLE_TRAINER_ENDPOINTS"), "127.0.0.1:6172,127.0.0.2:6173");
}

TEST(JobTest, APortThatIsTakenIsRefusedWithItsHolder) {
  const Listener held = listen_on("127.0.0.1", 0);
  EXPECT_THAT(refusal({"--servers=" + held.endpoint(), "--worker_num=1"}),
              AllOf(HasSubstr("Address already in use"),
                    HasSubstr("it is used by another process of this job")));
}

TEST(JobTest, RefusesInOneSentence) {
  EXPECT_THAT(refusal({"--gpus=0,,1"}), HasSubstr("must be a comma-separated list of GPU numbers"));
  EXPECT_THAT(refusal({"--gpus=a"}), HasSubstr("must be a comma-separated list of GPU numbers"));
  EXPECT_THAT(refusal({"--gpus=1,1"}), HasSubstr("names GPU 1 twice"));
  EXPECT_THAT(refusal({"--worker_num=2"}), HasSubstr("needs servers: give --server_num"));
  EXPECT_THAT(refusal({"--server_num=2"}), HasSubstr("needs workers: give --worker_num"));
  EXPECT_THAT(refusal({"--servers=127.0.0.1", "--worker_num=1"}), HasSubstr("has no port"));
  EXPECT_THAT(refusal({"--servers=127.0.0.1:70000", "--worker_num=1"}), HasSubstr("1 to 65535"));
  EXPECT_THAT(refusal({"--servers=127.0.0.1:6170", "--server_num=2", "--worker_num=1"}),
              HasSubstr("--servers names 1 processes, but --server_num is 2"));
  EXPECT_EQ(refusal({"--servers=127.0.0.1:6170,127.0.0.1:6170", "--worker_num=1"}),
            "--servers names 127.0.0.1:6170 twice: give every process a port of its own");
  EXPECT_EQ(
      refusal({"--servers=127.0.0.1:6170", "--workers=127.0.0.1:6171,127.0.0.1:6170"}),
      "--servers and --workers both name 127.0.0.1:6170: give every process a port of its own");
  EXPECT_EQ(refusal({"--ips=127.0.0.1,127.0.0.2,127.0.0.1"}),
            "--ips names 127.0.0.1 twice: name every host once");
  EXPECT_EQ(refusal({"--server_num=1", "--worker_num=1000000000"}),
            "--worker_num can start at most 4096 processes on a host, but is 1000000000");
  EXPECT_EQ(refusal({"--nproc_per_node=5000"}),
            "--nproc_per_node can start at most 4096 processes on a host, but is 5000");
  const std::vector<std::string> words = {"no_such_script.py"};
  EXPECT_THROW(plan_job(parse_options(words, Front::kLaunch), machine()), Error);
}

TEST(PrintTest, ShowsTheBlockOfTheDocument) {
  const std::vector<std::string> words = {"--server_num=1", "--worker_num=2", "--gpus=0,1",
                                          "train.py",       "--lr",           "0.1"};
  EXPECT_EQ(configuration_block(parse_options(words, Front::kLaunch)),
            "-----------  Configuration Arguments -----------\n"
            "gpus: 0,1\n"
            "heter_worker_num: None\n"
            "heter_workers: \n"
            "http_port: None\n"
            "ips: 127.0.0.1\n"
            "log_dir: log\n"
            "nproc_per_node: None\n"
            "server_num: 1\n"
            "servers: \n"
            "training_script: train.py\n"
            "training_script_args: ['--lr', '0.1']\n"
            "worker_num: 2\n"
            "workers: \n"
            "------------------------------------------------\n");
}

TEST(PrintTest, ShowsTheTableOfTheDocument) {
  EXPECT_EQ(
      environment_table({{"PADDLE_CURRENT_ENDPOINT", "127.0.0.1:17901"},
                         {"PADDLE_TRAINERS_NUM", "2"},
                         {"LONG", "127.0.0.1:17901,127.0.0.1:18846,127.0.0.1:18847"}}),
      "    +=================================================================================="
      "=====+\n"
      "    |                        Distributed Envs                      Value               "
      "     |\n"
      "    +----------------------------------------------------------------------------------"
      "-----+\n"
      "    |                 PADDLE_CURRENT_ENDPOINT                 127.0.0.1:17901          "
      "     |\n"
      "    |                     PADDLE_TRAINERS_NUM                        2                 "
      "     |\n"
      "    |                                    LONG  ... 0.1:17901,127.0.0.1:18846,127.0.0.1:"
      "18847|\n"
      "    +=================================================================================="
      "=====+\n");
}

}  // namespace
}  // namespace flotilla::launch
