#include "flotilla/launch/devices.h"

#include <gmock/gmock.h>

#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/launch/job.h"

namespace flotilla::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Machine with(int64_t gpus, std::optional<std::vector<std::string>> visible = {}) {
  return {.gpus = gpus, .visible_gpus = std::move(visible), .python = "py"};
}

Devices choose(const std::string& asked, const Machine& machine) {
  JobOptions options;
  if (!asked.empty()) options.gpus = asked;
  return choose_devices(options, machine);
}

std::string refusal(const std::string& asked, const Machine& machine) {
  try {
    choose(asked, machine);
  } catch (const Error& error) {
    return error.sentence();
  }
  return "no error";
}

// A variable of each process, in order.
std::vector<std::string> given(const std::string& name, std::vector<std::string> words,
                               const Machine& machine) {
  words.push_back("program");
  std::vector<std::string> values;
  for (const Process& process : plan_job(parse_options(words, Front::kLaunch), machine).processes) {
    std::string value = "unset";
    for (const Variables* variables : {&process.shown, &process.hidden}) {
      for (const auto& [key, text] : *variables) value = key == name ? text : value;
    }
    values.push_back(process.role + " " + value);
  }
  return values;
}

TEST(DevicesTest, AreThoseThatWereAskedFor) {
  const Devices some = choose("1,3", with(4));
  EXPECT_TRUE(some.there);
  EXPECT_THAT(some.ids, ElementsAre("1", "3"));
  EXPECT_THAT(some.places, ElementsAre("1", "3"));
}

TEST(DevicesTest, AreAllThatAreVisibleWhereNobodyAsks) {
  EXPECT_THAT(choose("", with(3)).ids, ElementsAre("0", "1", "2"));
  EXPECT_THAT(choose("", with(3, {{"2", "0"}})).ids, ElementsAre("2", "0"));
  EXPECT_THAT(choose("", with(0)).ids, IsEmpty());
  const Devices hidden = choose("", with(3, {std::vector<std::string>()}));
  EXPECT_FALSE(hidden.there);
  EXPECT_EQ(hidden.notice, "");
}

TEST(DevicesTest, AreCountedAmongTheVisibleOnes) {
  const Devices some = choose("6,4", with(8, {{"4", "5", "6"}}));
  EXPECT_THAT(some.ids, ElementsAre("6", "4"));
  EXPECT_THAT(some.places, ElementsAre("2", "0"));
  EXPECT_THAT(refusal("7", with(8, {{"4", "5", "6"}})),
              HasSubstr("--gpus asks for 7, but CUDA_VISIBLE_DEVICES is \"4,5,6\""));
}

TEST(DevicesTest, ThatAreNotThereLeaveTheCpu) {
  const Devices none = choose("0,1", with(0));
  EXPECT_FALSE(none.there);
  EXPECT_THAT(none.places, ElementsAre("0", "1")) << "as they were asked for";
  EXPECT_EQ(none.notice,
            "--gpus asks for 0,1, but this host has 0 GPUs: the processes run on the CPU");
  EXPECT_FALSE(choose("0,9", with(2)).there);
  setenv("FLAGS_require_gpu", "1", 1);
  EXPECT_EQ(refusal("0,9", with(2)),
            "--gpus asks for 0,9, but this host has 2 GPUs; without FLAGS_require_gpu=1 the "
            "processes run on the CPU");
  unsetenv("FLAGS_require_gpu");
}

TEST(DevicesTest, ThatAreAllHiddenLeaveTheCpu) {
  const Machine hidden = with(2, std::vector<std::string>());
  const Devices none = choose("0,1", hidden);
  EXPECT_FALSE(none.there);
  EXPECT_EQ(none.notice,
            "--gpus asks for 0,1, but CUDA_VISIBLE_DEVICES is \"\": the processes run on the CPU");
  EXPECT_THAT(given("FLAGS_selected_gpus", {"--nproc_per_node=3"}, hidden), SizeIs(3));
}

TEST(DevicesTest, CudaVisibleDevicesSetToNothingHidesAll) {
  const std::optional<std::string> before = env::text("CUDA_VISIBLE_DEVICES");
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_EQ(this_machine("fleetrun").visible_gpus, std::vector<std::string>());
  setenv("CUDA_VISIBLE_DEVICES", "2,-1,0", 1);
  EXPECT_EQ(this_machine("fleetrun").visible_gpus, std::vector<std::string>{"2"});
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(this_machine("fleetrun").visible_gpus, std::nullopt);
  if (before) setenv("CUDA_VISIBLE_DEVICES", before->c_str(), 1);
}

TEST(DevicesTest, MoreProcessesThanGpusAreToldTheWayOut) {
  const auto start = [](const Machine& machine) {
    return given("FLAGS_selected_gpus", {"--nproc_per_node=2"}, machine);
  };
  try {
    start(with(1));
    FAIL() << "two processes on one GPU";
  } catch (const Error& error) {
    EXPECT_EQ(error.sentence(),
              "--nproc_per_node must divide the number of GPUs, but 2 does not divide 1; "
              "CUDA_VISIBLE_DEVICES= starts the processes on the CPU");
  }
  EXPECT_THAT(start(with(0)), SizeIs(2));
}

TEST(DevicesTest, WorkersOfACollectiveJobAreToldTheirPlaces) {
  const Machine machine = with(8, {{"4", "5", "6", "7"}});
  EXPECT_THAT(given("FLAGS_selected_gpus", {"--gpus=5,7"}, machine),
              ElementsAre("worker 1", "worker 3"));
  EXPECT_THAT(given("CUDA_VISIBLE_DEVICES", {"--gpus=5,7"}, machine),
              ElementsAre("worker unset", "worker unset"));
  for (const char* words : {"--selected_gpus=4,5,6,7", "--devices=4,5,6,7", "--job_id=all"}) {
    EXPECT_THAT(given("PADDLE_LOCAL_DEVICE_IDS", {words, "--nproc_per_node=2"}, machine),
                ElementsAre("worker 0,1", "worker 2,3"));
    EXPECT_THAT(given("PADDLE_WORLD_DEVICE_IDS", {words, "--nproc_per_node=2"}, machine),
                ElementsAre("worker 0:1,2:3", "worker 0:1,2:3"));
  }
}

TEST(DevicesTest, ProcessesOfAFunctionTakeTheFirstOnesOrNone) {
  const auto taken = [](const char* count) {
    const JobOptions options =
        parse_options(std::vector<std::string>{count, "program"}, Front::kSpawn);
    return choose_devices(options, with(3)).ids;
  };
  EXPECT_THAT(taken("--nproc_per_node=2"), ElementsAre("0", "1"));
  EXPECT_THAT(taken("--nproc_per_node=3"), ElementsAre("0", "1", "2"));
  EXPECT_THAT(taken("--nproc_per_node=4"), ElementsAre());
}

TEST(DevicesTest, WorkersOfAJobWithServersSeeTheirOwnOnly) {
  const std::vector<std::string> words = {"--gpus=5,7", "--server_num=1", "--worker_num=3",
                                          "--heter_worker_num=1"};
  const Machine machine = with(8, {{"4", "5", "6", "7"}});
  EXPECT_THAT(given("CUDA_VISIBLE_DEVICES", words, machine),
              ElementsAre("server unset", "worker 5", "worker 7", "worker 5", "heter_worker 5"));
  EXPECT_THAT(given("FLAGS_selected_gpus", words, machine),
              ElementsAre("server unset", "worker 0", "worker 0", "worker 0", "heter_worker 0"));
}

TEST(DevicesTest, HeterWorkersHaveARoleAndALogOfTheirOwn) {
  const std::vector<std::string> words = {"--server_num=1", "--worker_num=1",
                                          "--heter_worker_num=2", "program"};
  const Job job = plan_job(parse_options(words, Front::kLaunch), with(0));
  ASSERT_EQ(job.processes.size(), 4u);
  const Process& second = job.processes[3];
  EXPECT_EQ(second.log, "heterlog.1");
  EXPECT_THAT(given("TRAINING_ROLE", {words.begin(), words.end() - 1}, with(0)),
              ElementsAre("server PSERVER", "worker TRAINER", "heter_worker HETER_TRAINER",
                          "heter_worker HETER_TRAINER"));
  EXPECT_EQ(job.endpoints.heters.size(), 2u);
  EXPECT_EQ(job.endpoints.heters[1].text(), second.listener.endpoint());
}

}  // namespace
}  // namespace flotilla::launch
