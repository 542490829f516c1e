// A server and its workers as threads, over real connections.

#include "flotilla/job/table_server.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/error.h"
#include "flotilla/base/fd.h"
#include "flotilla/job/table_files.h"
#include "flotilla/ps/client.h"
#include "flotilla/ps/rpc_channel.h"
#include "flotilla/rpc/store_server.h"

namespace flotilla::job {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const ps::TableSpec kTable = {
    .id = 0, .name = "w", .kind = ps::TableSpec::kDense, .width = 4, .rule = {.name = "sgd"}};

// A worker of the job with a client of its own.
struct Worker {
  Worker(const std::string& store, int rank, int workers)
      : membership({.address = store,
                    .token = "secret",
                    .self = {.role = "worker", .rank = rank, .host = "here", .pid = rank}}),
        job_state(membership),
        rank(rank) {
    job_state.set_leased("alive/" + std::to_string(rank), "0");
    const std::string place = job_state.wait_for("server/0", "waits");
    client = std::make_shared<ps::Client>(ps::Client::Options{
        .self = {.rank = rank, .workers = workers},
        .incarnation = ps::new_incarnation(),
        .connect =
            [this](int, const auto&) {
              const std::string now = *job_state.find("server/0");
              return ps::make_rpc_channel(
                  {.address = now.substr(0, now.find(' ')), .token = "secret", .patience = 1s});
            },
        .patience = 20s});
  }

  void push(float gradient) {
    const std::vector<float> values(4, gradient);
    ps::ScatteredStep step;
    step.changes.push_back({{.table = 0, .lr = 1}, {values}});
    std::vector<ps::Outgoing> requests = {client->prepare(0, step, 0)};
    client->send(requests);
  }

  std::vector<float> pull() {
    std::vector<ps::Outgoing> requests = {
        client->prepare(0, {.pulls = {{.table = 0, .dense = true}}}, 4 * sizeof(float))};
    const ps::Bytes answer = client->send(requests)[0];
    const auto* values = reinterpret_cast<const float*>(answer.data.data());
    return {values, values + 4};
  }

  void leave() {
    const ps::Presence left{.rank = rank, .version = 1, .state = ps::Presence::kLeft};
    job_state.set("presence/" + std::to_string(rank), ps::print(left));
    client->announce(left);
  }

  Membership membership;
  JobState job_state;
  const int rank;
  std::shared_ptr<ps::Client> client;
};

class TableServerTest : public testing::Test {
 protected:
  ~TableServerTest() override { fs::remove_all(directory); }

  Membership::Options self(int64_t attempt) {
    return {.address = store.address(),
            .token = "secret",
            .self = {.role = "server", .rank = 0, .host = "here", .pid = 1, .attempt = attempt}};
  }

  rpc::StoreServer store{{.token = "secret"}};
  const fs::path directory =
      fs::temp_directory_path() / ("table_server_test." + std::to_string(getpid()));
};

TEST_F(TableServerTest, ServesUntilAllWorkersHaveLeft) {
  Membership membership(self(0));
  TableServer server(membership, {.workers = 2, .launched = true});
  auto ran = std::async(std::launch::async, [&] { return server.run(); });
  Worker first(store.address(), 0, 2), second(store.address(), 1, 2);
  first.client->create({kTable});
  first.push(1);
  second.push(2);
  EXPECT_THAT(second.pull(), ElementsAre(-3, -3, -3, -3));
  EXPECT_THAT(server.metrics(), HasSubstr("flotilla_ps_pushed_rows_total{table=\"w\"} 2"));
  const std::shared_ptr<ps::Channel> outsider =
      ps::make_rpc_channel({.address = server.address(), .token = "another", .patience = 5s});
  std::promise<void> refused;
  outsider->call(outsider->allocate(8), 0, [&](const ps::Bytes&, const std::exception_ptr& error) {
    EXPECT_TRUE(error != nullptr);
    refused.set_value();
  });
  refused.get_future().wait();
  EXPECT_THAT(server.metrics(), testing::ContainsRegex("turned_away_total.wrong=.token.. [1-9]"));
  first.leave();
  EXPECT_EQ(ran.wait_for(300ms), std::future_status::timeout) << "worker 1 is still there";
  second.leave();
  EXPECT_EQ(ran.get(), "");
}

TEST_F(TableServerTest, OneThatIsStartedAgainContinues) {
  Membership first_life(self(0));
  std::optional<TableServer> server;
  server.emplace(first_life, TableServerOptions{.launched = true, .directory = directory});
  auto ran = std::async(std::launch::async, [&] { return server->run(); });
  Worker worker(store.address(), 0, 1);
  worker.client->create({kTable});
  worker.push(1);
  EXPECT_EQ(worker.client->values()[0].values.id, ps::kUnnamedValues)
      << "nobody has given it an id";
  worker.client->set_values();
  const ps::Values values = worker.client->values()[0].values;
  EXPECT_GT(values.id, ps::kUnnamedValues);
  server->stop();
  EXPECT_EQ(ran.get(), "");
  server.reset();
  server.emplace(first_life, TableServerOptions{.launched = true, .directory = directory});
  ran = std::async(std::launch::async, [&] { return server->run(); });
  worker.push(2);
  EXPECT_THAT(worker.pull(), ElementsAre(-3, -3, -3, -3));
  EXPECT_EQ(worker.client->values()[0].values, values);
  worker.leave();
  EXPECT_EQ(ran.get(), "");
}

TEST_F(TableServerTest, ARoundGoesOnWithoutAWorkerThatIsGone) {
  Membership membership(self(0));
  TableServer server(membership, {.workers = 2, .launched = true});
  auto ran = std::async(std::launch::async, [&] { return server.run(); });
  Worker first(store.address(), 0, 2);
  first.client->create({kTable});
  {
    Worker second(store.address(), 1, 2);
    second.membership.abandon("it was killed");
  }
  const std::vector<float> ones(4, 1.0F);
  ps::ScatteredStep step;
  step.in_round = true;
  step.changes.push_back({{.table = 0, .lr = 1}, {ones}});
  std::vector<ps::Outgoing> requests = {first.client->prepare(0, step, 0)};
  first.client->send(requests);
  EXPECT_THAT(first.pull(), ElementsAre(-1, -1, -1, -1));
  first.leave();
  EXPECT_EQ(ran.wait_for(300ms), std::future_status::timeout) << "a launcher may start it again";
  server.stop();
  EXPECT_EQ(ran.get(), "");
}

TEST_F(TableServerTest, WhoeverServesTheStatusPortFollowsTheWorkers) {
  Membership membership(self(0));
  TableServer server(membership, {.workers = 1, .launched = true});
  auto ran = std::async(std::launch::async, [&] { return server.run(); });
  Worker worker(store.address(), 0, 1);
  const Endpoint port = *find_endpoint(worker.job_state.wait_for("status/0", "waits"));
  const Fd silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in there = {};
  there.sin_family = AF_INET;
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  there.sin_port = htons(static_cast<uint16_t>(port.port));
  ASSERT_EQ(::connect(silent.get(), reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
  EXPECT_THAT(read_status(port), HasSubstr("flotilla_ps_turned_away_total"));
  worker.leave();
  EXPECT_EQ(ran.wait_for(1s), std::future_status::ready);
  EXPECT_EQ(ran.get(), "");
}

TEST_F(TableServerTest, WhatIsNotUnderstoodOfTheWorkersIsPassedOver) {
  testing::internal::CaptureStderr();
  Membership membership(self(0));
  TableServer server(membership, {.workers = 1, .launched = true});
  auto ran = std::async(std::launch::async, [&] { return server.run(); });
  Worker worker(store.address(), 0, 1);
  worker.job_state.set("alive/1", "of another version");
  worker.job_state.set("presence/1", "of another version");
  worker.leave();
  EXPECT_EQ(ran.wait_for(10s), std::future_status::ready);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("does not understand ps/alive/1"),
                    HasSubstr("does not understand ps/presence/1")));
}

// As by a user who goes on after Ctrl-C.
TEST_F(TableServerTest, CanBeRunAgain) {
  Membership membership(self(0));
  TableServer server(membership, {.workers = 1, .launched = true});
  EXPECT_THROW(server.run([] { throw std::runtime_error("Ctrl-C"); }), std::runtime_error);
  auto ran = std::async(std::launch::async, [&] { return server.run(); });
  Worker worker(store.address(), 0, 1);
  worker.leave();
  EXPECT_EQ(ran.get(), "");
}

TEST_F(TableServerTest, WithoutALauncherThoseWhoEndedAreDone) {
  Membership membership(self(0));
  TableServer server(membership, {.workers = 2});
  auto ran = std::async(std::launch::async, [&] { return server.run(); });
  { Worker first(store.address(), 0, 2); }
  EXPECT_EQ(ran.wait_for(300ms), std::future_status::timeout) << "worker 1 has not come";
  { Worker second(store.address(), 1, 2); }
  EXPECT_EQ(ran.get(), "");
}

TEST_F(TableServerTest, EndsWithTheJobAndSaysWhy) {
  Membership membership(self(0));
  TableServer server(membership, {});
  auto ran = std::async(std::launch::async, [&] { return server.run(); });
  store.stop("worker 0 failed");
  EXPECT_EQ(ran.get(), "worker 0 failed");
}

TEST_F(TableServerTest, WhoeverWaitsCanBeInterrupted) {
  Membership membership(self(0));
  TableServer server(membership, {});
  EXPECT_THROW(server.run([] { throw std::runtime_error("Ctrl-C"); }), std::runtime_error);
}

TEST_F(TableServerTest, LoadsACheckpoint) {
  Membership membership(self(0));
  {
    TableServer server(membership, {.directory = directory / "first"});
    auto ran = std::async(std::launch::async, [&] { return server.run(); });
    Worker worker(store.address(), 0, 1);
    worker.client->create({kTable});
    worker.push(5);
    fs::create_directories(directory / "saved");
    worker.client->save(directory / "saved" / kTablesFolder);
    worker.leave();
    EXPECT_EQ(ran.get(), "");
  }
  store.stop("");  // a job of its own for the second
  rpc::StoreServer other{{.token = "secret"}};
  Membership::Options again = self(0);
  again.address = other.address();
  Membership second(std::move(again));
  TableServer server(second, {});
  server.load(directory / "saved");
  auto ran = std::async(std::launch::async, [&] { return server.run(); });
  Worker worker(other.address(), 0, 1);
  EXPECT_TRUE(ps::have_values(worker.client->values()));
  EXPECT_THAT(worker.pull(), ElementsAre(-5, -5, -5, -5));
  worker.leave();
  EXPECT_EQ(ran.get(), "");
}

// A launcher without a secret says FLT_JOB_TOKEN all the same: one that others can guess.
TEST(TableServerOptions, WithoutASecretCallsAreTakenFromTheHostsOfTheJob) {
  const fleet::Role role{.kind = fleet::RoleKind::kServer,
                         .worker_endpoints = {"10.0.0.3:6170"},
                         .server_endpoints = {"10.0.0.1:6174"},
                         .endpoint = "10.0.0.1:6174"};
  EXPECT_THAT(table_server_options(role).only_from,
              ElementsAre("10.0.0.1", "10.0.0.3", "127.0.0.1"));
  setenv("FLT_JOB_TOKEN", "job default", 1);
  EXPECT_THAT(table_server_options(role).only_from, IsEmpty()) << "the secret says who may call";
  setenv("FLT_ONLY_FROM", "10.0.0.1,node-2", 1);
  EXPECT_THAT(table_server_options(role).only_from, ElementsAre("10.0.0.1", "node-2"));
  unsetenv("FLT_ONLY_FROM");
  setenv("FLT_MADE_TOKEN", "job default", 1);
  EXPECT_THAT(table_server_options(role).only_from, SizeIs(3)) << "it is that of another job";
  setenv("FLT_STORE", "10.0.0.1:6000", 1);
  EXPECT_THAT(table_server_options(role).only_from, IsEmpty()) << "nobody can guess it";
  for (const char* name : {"FLT_STORE", "FLT_MADE_TOKEN", "FLT_JOB_TOKEN"}) unsetenv(name);
}

TEST(TableFiles, RefusesTheFolderOfAnotherNumberOfServers) {
  const fs::path root =
      fs::temp_directory_path() / ("table_files_test." + std::to_string(getpid()));
  fs::create_directories(root / "server-0-of-2");
  EXPECT_EQ(folder_of_server(root, 1, 2), root / "server-1-of-2");
  try {
    folder_of_server(root, 0, 3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("are those of 2 servers, but this job has 3"));
  }
  EXPECT_EQ(folder_of_server({}, 0, 3), fs::path());
  fs::remove_all(root);
}

}  // namespace
}  // namespace flotilla::job
