// Who may take part and in which order; then launchers as threads over the loopback network.

#include "flotilla/launch/rendezvous.h"

#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <map>
#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/testing/errors.h"

namespace flotilla::launch {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

JobOptions options(std::vector<std::string> words) {
  words.insert(words.end(), {"--quiet", "program"});
  return parse_options(words, Front::kLaunch);
}

Arrived host(const std::string& address, int64_t rank = -1, const std::string& nnodes = "3") {
  Arrived made;
  made.set_name(address);
  made.set_address(address);
  made.set_pid(7);
  made.set_rank(rank);
  made.set_nnodes(nnodes);
  made.set_job_id("default");
  return made;
}

std::vector<std::string> order(const Gathering& gathering) {
  std::vector<std::string> addresses;
  for (const Arrived& each : gathering.ranked()) addresses.push_back(each.address());
  return addresses;
}

const JobOptions kThree = options({"--master=m:1", "--nnodes=3"});

TEST(GatheringTest, RanksAreThoseOfTheOptionAndThenTheOrderOfArrival) {
  Gathering plain(kThree, host("a"));
  EXPECT_EQ(plain.add(host("b")).refusal, "");
  EXPECT_FALSE(plain.enough());
  EXPECT_EQ(plain.add(host("c")).refusal, "");
  EXPECT_TRUE(plain.enough() && plain.full());
  EXPECT_THAT(order(plain), ElementsAre("a", "b", "c"));
  EXPECT_EQ(plain.add(host("d")).refusal,
            "host d (pid 7) is one too many: all 3 hosts of the job have joined");

  Gathering mixed(kThree, host("a"));
  mixed.add(host("b", 0));
  mixed.add(host("c"));
  EXPECT_THAT(order(mixed), ElementsAre("b", "a", "c"));
  mixed.remove("c");
  EXPECT_FALSE(mixed.enough());
}

TEST(GatheringTest, ARangeIsEnoughBeforeItIsFull) {
  Gathering range(options({"--master=m:1", "--nnodes=2:3"}), host("a", -1, "2:3"));
  EXPECT_FALSE(range.enough());
  range.add(host("b", -1, "2:3"));
  EXPECT_TRUE(range.enough());
  EXPECT_FALSE(range.full());
  EXPECT_THAT(order(range), ElementsAre("a", "b"));
}

TEST(GatheringTest, RefusesInOneSentenceWithNames) {
  Gathering gathering(kThree, host("a", 0));
  const Gathering::Verdict second = gathering.add(host("b", 0));
  EXPECT_EQ(second.refusal, "rank 0 is taken by host a (pid 7); b (pid 7) is a second copy of it");
  EXPECT_FALSE(second.ends_all);

  Arrived other = host("b");
  other.set_job_id("mine");
  EXPECT_EQ(gathering.add(other).refusal,
            "host b (pid 7) asks for the job \"mine\", but this is the job \"default\": give every "
            "host the same --job_id");

  const Gathering::Verdict count = gathering.add(host("b", -1, "2"));
  EXPECT_EQ(count.refusal,
            "host b (pid 7) has --nnodes 2, but host a (pid 7) has --nnodes 3: give every host the "
            "same");
  EXPECT_TRUE(count.ends_all);

  Arrived servers = host("b");
  servers.set_with_servers(true);
  EXPECT_EQ(
      gathering.add(servers).refusal,
      "host b (pid 7) starts one with parameter servers, but host a (pid 7) a collective job: "
      "give every host the same command");

  EXPECT_EQ(gathering.add(host("b", 2)).refusal, "");
  try {
    gathering.ranked();
    FAIL() << "rank 2 of two hosts";
  } catch (const Error& error) {
    EXPECT_EQ(error.sentence(), "host b (pid 7) has --rank 2, but only 2 hosts joined");
  }
}

std::map<std::string, std::string> variables(const Process& process) {
  std::map<std::string, std::string> all(process.shown.begin(), process.shown.end());
  all.insert(process.hidden.begin(), process.hidden.end());
  return all;
}

int64_t free_port() { return listen_on("127.0.0.1", 0).port; }

const Machine kMachine = {.cores = 8, .python = "py"};

Job join(const std::vector<std::string>& words) {
  const JobOptions said = options(words);
  Job job = plan_job(said, kMachine);
  join_master(said, kMachine, job);
  return job;
}

TEST(RendezvousTest, HostsMeetAndKnowEachOthersEndpoints) {
  const std::string master = fmt::format("--master=127.0.0.1:{}", free_port());
  std::vector<std::future<Job>> hosts;
  for (int i = 0; i < 3; ++i) {
    hosts.push_back(std::async(std::launch::async, [&, i] {
      return join({master, "--nnodes=3", fmt::format("--rank={}", 2 - i), "--nproc_per_node=2"});
    }));
  }
  std::vector<Job> jobs;
  for (auto& each : hosts) jobs.push_back(each.get());
  int serving = 0;
  for (int i = 0; i < 3; ++i) {
    const Job& job = jobs[static_cast<size_t>(i)];
    EXPECT_EQ(job.host, 2 - i);
    EXPECT_EQ(job.hosts.size(), 3u);
    EXPECT_EQ("--master=" + job.store, master);
    EXPECT_EQ(job.token, jobs[0].token);
    serving += job.serve_at.empty() ? 0 : 1;
    for (const Process& process : job.processes) {
      const auto all = variables(process);
      EXPECT_EQ(process.rank, 2 * job.host + process.local);
      EXPECT_EQ(all.at("PADDLE_TRAINER_ID"), fmt::to_string(process.rank));
      EXPECT_EQ(all.at("PADDLE_TRAINERS_NUM"), "6");
      EXPECT_EQ(split_list(all.at("PADDLE_TRAINER_ENDPOINTS"))[static_cast<size_t>(process.rank)],
                all.at("PADDLE_CURRENT_ENDPOINT"));
      EXPECT_EQ(all.at("PADDLE_TRAINER_ENDPOINTS"),
                variables(jobs[0].processes[0]).at("PADDLE_TRAINER_ENDPOINTS"));
    }
  }
  EXPECT_EQ(serving, 1);
}

TEST(RendezvousTest, ServersAndWorkersOfAllHostsAreListed) {
  const std::string master = fmt::format("--master=127.0.0.1:{}", free_port());
  const auto start = [&](const char* workers) {
    return std::async(std::launch::async, [&, workers] {
      return join({master, "--nnodes=2", "--server_num=1", workers});
    });
  };
  auto first = start("--worker_num=2");
  std::this_thread::sleep_for(300ms);
  auto second = start("--worker_num=1");
  const Job a = first.get(), b = second.get();
  EXPECT_EQ(a.host, 0);
  EXPECT_EQ(b.host, 1);
  ASSERT_EQ(b.processes.size(), 2u);
  EXPECT_EQ(b.processes[0].role, "server");
  EXPECT_EQ(b.processes[0].rank, 1);
  EXPECT_EQ(b.processes[1].rank, 2);
  EXPECT_EQ(variables(b.processes[1]).at("PADDLE_TRAINERS_NUM"), "3");
  EXPECT_EQ(variables(b.processes[1]).at("PADDLE_PSERVERS_IP_PORT_LIST"),
            variables(a.processes[0]).at("PADDLE_PSERVERS_IP_PORT_LIST"));
}

TEST(RendezvousTest, ARangeDoesNotWaitLongForLateHosts) {
  const std::string master = fmt::format("--master=127.0.0.1:{}", free_port());
  const auto start = [&] {
    return std::async(std::launch::async, [&] {
      return join({master, "--nnodes=2:4", "--elastic_timeout=0.3"});
    });
  };
  auto first = start(), second = start();
  EXPECT_EQ(first.get().hosts.size(), 2u);
  EXPECT_EQ(second.get().hosts.size(), 2u);
}

TEST(RendezvousTest, DifferentCountsAreToldOnBothSides) {
  const std::string master = fmt::format("--master=127.0.0.1:{}", free_port());
  const auto start = [&](const char* nnodes) {
    return std::async(std::launch::async, [&, nnodes]() -> std::string {
      try {
        join({master, nnodes});
      } catch (const Error& error) {
        return error.sentence();
      }
      return "no error";
    });
  };
  auto first = start("--nnodes=2"), second = start("--nnodes=3");
  const std::string said = first.get();
  EXPECT_THAT(said, HasSubstr("--nnodes 3"));
  EXPECT_EQ(said, second.get());
}

TEST(RendezvousTest, AMasterWhoseNameNobodyKnowsIsWaitedForWithAWordAndThenRefused) {
  JobOptions meets = options({"--master=no-such-host.invalid:6500", "--nnodes=2"});
  meets.quiet = false;
  testing::internal::CaptureStderr();
  const std::string why = refusal_of([&] {
    wait_for_name_of_master(meets, {.patience = 1ms, .times = {.first = 0s, .every = 1h}});
  });
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("waiting for the host with the address no-such-host.invalid:6500, a name "
                        "that cannot be resolved"));
  EXPECT_EQ(why,
            "the hosts meet at --master no-such-host.invalid:6500, but the name "
            "\"no-such-host.invalid\" cannot be resolved");
}

}  // namespace
}  // namespace flotilla::launch
