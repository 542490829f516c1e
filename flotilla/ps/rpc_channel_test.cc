// flotilla/ps/rpc_channel_test.cc

#include "flotilla/ps/rpc_channel.h"

#include <gmock/gmock.h>

#include <atomic>
#include <optional>
#include <thread>

#include "flotilla/ps/client.h"
#include "flotilla/ps/worker.h"
#include "flotilla/rpc/data_testing.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::ps {
namespace {

using ::testing::ElementsAre;

const std::vector<TableSpec> kTables = {
    parse_table("table 1 emb sparse width=4 rule=sgd init=constant(1)"),
    parse_table("table 2 fc dense width=100000 rule=sgd")};

// One server behind a socket; a server that is started again is at another address.
struct Server {
  explicit Server(const std::filesystem::path& directory, int workers = 1)
      : store({.directory = directory}),
        service(store, {.workers = workers}),
        server(rpc::DataServer::Options{.token = "secret", .on_call = answer_with(service)}) {}
  Store store;
  Service service;
  rpc::DataServer server;
};

std::shared_ptr<Client> client_of(const std::optional<Server>& server, int rank, int workers) {
  return std::make_shared<Client>(
      Client::Options{.self = {rank, workers},
                      .incarnation = new_incarnation(),
                      .connect = [&server](int, const auto&) {
                        if (!server) {
                          throw Error(ErrorKind::kUnavailable, "the server is not there");
                        }
                        return make_rpc_channel({.address = server->server.address(),
                                                 .token = "secret",
                                                 .patience = std::chrono::milliseconds(500)});
                      }});
}

TEST(RpcChannel, TwoWorkersTrainInRounds) {
  std::optional<Server> server(std::in_place, "", 2);
  std::vector<std::jthread> threads;
  client_of(server, 0, 2)->create(kTables);
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      Worker worker({.mode = Mode::kSync, .rank = rank, .workers = 2});
      worker.connect(client_of(server, rank, 2), kTables);
      const std::vector<int64_t> ids = {7, -9, 7};
      std::vector<float> rows(12), gradients(12, 1.0f), fc(100000), dense(100000, rank ? 3 : 1);
      for (int step = 0; step < 20; ++step) {
        const Lookup lookup = {ids, rows.data()};
        worker.lookup(1, {&lookup, 1}, Worker::kNoPadding, false);
        worker.push_rows(1, {{ids, gradients.data()}}, Worker::kNoPadding, 0.5f);
        worker.push_dense(2, {dense}, 0.5f);
        worker.end_step();
        const std::span<float> parts[] = {fc};
        worker.refresh(2, parts);
        ASSERT_EQ(fc, std::vector<float>(100000, -1.0f * static_cast<float>(step + 1)));
      }
      EXPECT_THAT(rows,
                  ElementsAre(-18, -18, -18, -18, -8.5f, -8.5f, -8.5f, -8.5f, -18, -18, -18, -18));
    });
  }
}

TEST(RpcChannel, AClientFindsAServerThatWasStartedAgain) {
  const TempDir directory;
  std::optional<Server> server(std::in_place, directory.path());
  const std::shared_ptr<Client> client = client_of(server, 0, 1);
  client->create(kTables);
  Worker worker({.mode = Mode::kHalfAsync});
  worker.connect(client, kTables);
  std::vector<float> fc(100000), dense(100000, 1.0f);
  const std::span<float> parts[] = {fc};
  for (int step = 0; step < 4; ++step) {
    worker.push_dense(2, {dense}, 1);
    worker.end_step();
    server.reset();
    server.emplace(directory.path());
  }
  worker.take(2, parts);
  EXPECT_EQ(fc, std::vector<float>(100000, -4.0f));
}

TEST(RpcChannel, AnAbortEndsTheWaitForAServerThatSaysNothing) {
  const rpc::Mute server(false);
  std::atomic<bool> asked = false;
  Client client({.connect = [&](int, const std::function<bool()>& aborted) {
    return make_rpc_channel({.address = server.address(),
                             .token = "secret",
                             .patience = std::chrono::minutes(10),
                             .stop = [&asked, &aborted] {
                               asked = true;
                               return aborted();
                             }});
  }});
  std::jthread user([&] {
    while (!asked) std::this_thread::yield();
    client.abort("it was interrupted");
  });
  EXPECT_REFUSED(client.snapshot(), "it was interrupted");
}

TEST(RpcChannel, WhoDoesNotKnowTheTokenIsRefused) {
  std::optional<Server> server(std::in_place, "");
  Client outsider({.connect = [&](int, const auto&) {
    return make_rpc_channel({.address = server->server.address(), .token = "guessed"});
  }});
  EXPECT_NE(refusal_of([&] { outsider.snapshot(); }), "(not refused)");
  EXPECT_EQ(server->service.stats().requests, 0);
  EXPECT_GE(server->server.stats().without_token, 1u);
}

}  // namespace
}  // namespace flotilla::ps
