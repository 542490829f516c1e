// Jobs without a launcher: ranks as threads, and as processes of this program.

#include "flotilla/job/find_store.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cstdlib>
#include <future>
#include <thread>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/error.h"
#include "flotilla/base/fd.h"
#include "flotilla/job/membership.h"
#include "flotilla/rpc/store_client.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/free_port.h"
#include "flotilla/testing/patience.h"

extern char** environ;

namespace flotilla::job {
namespace {

using namespace std::chrono_literals;
using fleet::Role;
using fleet::RoleKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

rpc::StoreClient::Options client(const FoundStore& found, const Role& role) {
  return {.address = found.address,
          .token = found.token,
          .self = {.role = role.is_server() ? "server" : "worker", .rank = role.index}};
}

// Every process adds one and waits for the others; then it leaves, the host maybe first.
void take_part(const Role& role) {
  const std::optional<FoundStore> found = find_store(role, {.patience = 20s});
  ASSERT_TRUE(found);
  rpc::StoreClient store(client(*found, role));
  store.add("here", 1);
  store.barrier("all", role.workers + role.servers());
  EXPECT_EQ(store.add("here", 0), role.workers + role.servers());
}

std::vector<Role> collective_job(int64_t workers) {
  const int64_t port = free_port();
  std::vector<std::string> endpoints;
  for (int64_t i = 0; i < workers; ++i) endpoints.push_back(fmt::format("127.0.0.1:{}", port + i));
  std::vector<Role> job;
  for (int64_t i = 0; i < workers; ++i) {
    job.push_back(
        {.collective = true, .index = i, .workers = workers, .worker_endpoints = endpoints});
  }
  return job;
}

void run(const std::vector<Role>& job) {
  std::vector<std::jthread> ranks;
  // The host comes last.
  for (auto role = job.rbegin(); role != job.rend(); ++role) {
    ranks.emplace_back([role = *role] { take_part(role); });
    std::this_thread::sleep_for(20ms);
  }
}

TEST(FindStoreTest, WorkerZeroHostsForACollectiveJob) { run(collective_job(4)); }

TEST(FindStoreTest, ServerZeroHostsForAJobWithServers) {
  const std::string a = fmt::format("127.0.0.1:{}", free_port());
  const std::string b = fmt::format("127.0.0.1:{}", free_port());
  std::vector<Role> job;
  for (const RoleKind kind : {RoleKind::kServer, RoleKind::kWorker}) {
    for (int64_t i = 0; i < 2; ++i) {
      job.push_back({.kind = kind, .index = i, .workers = 2, .server_endpoints = {a, b}});
    }
  }
  run(job);
}

TEST(FindStoreTest, ASchedulersFirstMachineHostsOnTheStoresPort) {
  const Variable port("FLT_STORE_PORT", fmt::to_string(free_port()));
  const Variable token("FLT_JOB_TOKEN", "secret");
  std::vector<Role> job;
  for (int64_t i = 0; i < 3; ++i) {
    job.push_back({.collective = true,
                   .index = i,
                   .workers = 3,
                   .hosts = {"localhost"},
                   .started_by = "Slurm"});
  }
  run(job);
}

TEST(FindStoreTest, SaysWhatToSetWhereTheFirstProcessCannotBeFound) {
  const Role role = {.collective = true, .workers = 4, .started_by = "Open MPI"};
  EXPECT_REFUSED(find_store(role),
                 "Open MPI started 4 processes, but nothing says where process 0 of them runs: set "
                 "PADDLE_MASTER to its host and a free port, the same for all, e.g. "
                 "PADDLE_MASTER=node-1:6069");
  {
    const Variable master("PADDLE_MASTER", "node-1");
    EXPECT_REFUSED(find_store(role), "PADDLE_MASTER takes host:port, but \"node-1\" was given");
  }
  const Variable master("PADDLE_MASTER", fmt::format("127.0.0.1:{}", free_port()));
  run({role,
       {.collective = true, .index = 1, .workers = 4},
       {.index = 2, .workers = 4},
       {.index = 3, .workers = 4}});
}

TEST(FindStoreTest, AProcessAloneNeedsNoStore) { EXPECT_FALSE(find_store({})); }

TEST(FindStoreTest, ListensOnAllAddressesWhereTheNamedOneIsNotItsOwn) {
  // An address that documentation may use and no machine has.
  const Variable master("PADDLE_MASTER", fmt::format("192.0.2.1:{}", free_port()));
  const Role role = {.collective = true, .workers = 2, .started_by = "Slurm"};
  const std::optional<FoundStore> found = find_store(role, {.patience = 0s});
  EXPECT_EQ(host_of(found->address), "127.0.0.1");
  rpc::StoreClient store(client(*found, role));
  EXPECT_EQ(store.add("n", 1), 1);
}

TEST(FindStoreTest, GivesUpOnAFirstProcessThatDoesNotCome) {
  Role role = collective_job(2)[1];
  try {
    find_store(role, {.patience = 200ms});
    FAIL() << "it found a store";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
    EXPECT_THAT(error.sentence(),
                HasSubstr("the first process of the job does not answer at " +
                          role.worker_endpoints[0] + " after 0 s: nothing listens on its port"));
  }
}

TEST(FindStoreTest, AHostThatThereIsNotIsNamedAtOnce) {
  // The first one would be dialled, the second one waited for.
  for (const size_t wrong : {0, 1}) {
    for (Role role : collective_job(2)) {
      role.worker_endpoints[wrong] = "no-such-host.invalid:6170";
      const Stopwatch watch;
      EXPECT_REFUSED(
          find_store(role),
          "the endpoints of this job name the host \"no-such-host.invalid\", but no host "
          "has this name");
      EXPECT_LT(watch.time(), 15s);
    }
  }
}

TEST(FindStoreTest, SaysWhoseNameIsWaitedForAndHowManyAreKnown) {
  Role role = collective_job(2)[0];
  role.worker_endpoints[1] = "no-such-host.invalid:6170";
  testing::internal::CaptureStderr();
  const std::string why = refusal_of([&] {
    find_store(role, {.times = {.first = 0s, .every = std::chrono::hours(1)},
                      .while_waiting = [] { refuse("Ctrl-C"); }});
  });
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      HasSubstr("waiting for the host name \"no-such-host.invalid\" to resolve; 1 of 2 have"));
  EXPECT_EQ(why, "Ctrl-C");
}

TEST(FindStoreTest, ALostProcessStopsTheJobAndTheHostDoesNotWaitForIt) {
  const std::vector<Role> job = collective_job(3);
  std::optional<FoundStore> found = find_store(job[0]);
  std::promise<std::string> told;
  rpc::StoreClient::Options zero = client(*found, job[0]);
  zero.on_stop = [&](const std::string& why) { told.set_value(why); };
  {
    const rpc::StoreClient store(zero);
    {
      rpc::StoreClient lost(client(*found, job[1]));
      lost.cancel("killed");
    }
    EXPECT_THAT(told.get_future().get(), HasSubstr("worker 1"));
  }
  const Stopwatch watch;
  found.reset();
  EXPECT_LT(watch.time(), 6s);
}

TEST(FindStoreTest, AHostThatIsAskedToEndDoesNotWaitForThoseThatHaveNotCome) {
  const std::vector<Role> job = collective_job(3);
  std::optional<FoundStore> found = find_store(job[0]);
  std::promise<std::string> told;
  rpc::StoreClient::Options one = client(*found, job[1]);
  one.on_stop = [&](const std::string& why) { told.set_value(why); };
  const rpc::StoreClient stays(one);
  const Stopwatch watch;
  found->host->end("worker 0 was asked to end");
  EXPECT_EQ(told.get_future().get(), "worker 0 was asked to end");
  found.reset();
  EXPECT_LT(watch.time(), 2s);
}

TEST(FindStoreTest, TheHostSaysWhoHasNotComeAndHowManyHave) {
  const std::vector<Role> job = collective_job(12);
  std::optional<FoundStore> found =
      find_store(job[0], {.times = {.first = 0s, .every = std::chrono::hours(1)}});
  {
    const rpc::StoreClient one(client(*found, job[1]));
    testing::internal::CaptureStderr();
    found->host->remind();
    found->host->remind();  // not again within the hour
    const std::string said = testing::internal::GetCapturedStderr();
    const std::string expected =
        "waiting for worker 0, worker 2, worker 3, worker 4, worker 5, worker 6, worker 7, worker "
        "8, ...: 1 of 12 processes of the job have joined";
    EXPECT_THAT(said, HasSubstr(expected));
    EXPECT_EQ(said.find("waiting"), said.rfind("waiting"));
  }
  found->host->end("the test is over");
}

// One process of the test below.
TEST(FindStoreProcess, DISABLED_TakesPart) {
  const auto membership = Membership::join(fleet::role_from_environment(true), nullptr);
  ASSERT_TRUE(membership);
  membership->store().barrier("all", 4);
  EXPECT_EQ(membership->stopped(), "");
}

pid_t start_rank(int64_t rank, const std::string& endpoints) {
  std::vector<std::string> words = {"/proc/self/exe", "--gtest_also_run_disabled_tests",
                                    "--gtest_filter=FindStoreProcess.DISABLED_TakesPart"};
  std::vector<std::string> variables = {"PADDLE_TRAINER_ENDPOINTS=" + endpoints,
                                        fmt::format("PADDLE_TRAINER_ID={}", rank)};
  std::vector<char*> argv, env;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& variable : variables) env.push_back(variable.data());
  for (char** entry = environ; *entry != nullptr; ++entry) env.push_back(*entry);
  argv.push_back(nullptr);
  env.push_back(nullptr);
  pid_t pid = -1;
  posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv.data(), env.data());
  return pid;
}

TEST(FindStoreTest, WithoutASecretTheHostsThatAreNamedMayJoinOrAnyWhereWorkersAreNot) {
  Role role;
  role.server_endpoints = {"10.0.0.1:6174", "10.0.0.2:6174"};
  EXPECT_THAT(hosts_of_job(role, "10.0.0.1"), IsEmpty()) << "0.14 names servers only";
  role.worker_endpoints = {"10.0.0.3:6170"};
  EXPECT_THAT(hosts_of_job(role, "10.0.0.1"),
              ElementsAre("10.0.0.1", "10.0.0.2", "10.0.0.3", "127.0.0.1"));
}

TEST(FindStoreTest, FourProcessesStartedByHandMeetInAnyOrder) {
  for (const std::vector<int64_t>& order : {std::vector<int64_t>{0, 1, 2, 3}, {3, 1, 0, 2}}) {
    const Role role = collective_job(4)[0];
    const std::string endpoints = fmt::format("{}", fmt::join(role.worker_endpoints, ","));
    std::vector<pid_t> pids;
    for (const int64_t rank : order) {
      pids.push_back(start_rank(rank, endpoints));
      std::this_thread::sleep_for(50ms);
    }
    for (const pid_t pid : pids) {
      int status = -1;
      ASSERT_EQ(waitpid(pid, &status, 0), pid);
      EXPECT_EQ(status, 0);
    }
  }
}

}  // namespace
}  // namespace flotilla::job
