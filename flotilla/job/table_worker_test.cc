// Servers and workers as threads, over real connections.

#include "flotilla/job/table_worker.h"

#include <gmock/gmock.h>

#include <functional>
#include <future>
#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/job/table_server.h"
#include "flotilla/rpc/store_server.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::job {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kServers = 2;

const passes::ServerTable kDense = {.id = 0,
                                    .name = "w",
                                    .params = {"w", "b"},
                                    .gradients = {"w@GRAD", "b@GRAD"},
                                    .width = 40,
                                    .rule = "sgd"};

// A server in a thread of its own.
struct Served {
  Served(const std::string& store, int index, int workers)
      : membership({.address = store,
                    .token = "secret",
                    .self = {.role = "server", .rank = index, .host = "here", .pid = index}}),
        server(membership,
               {.server = index, .servers = kServers, .workers = workers, .launched = true}),
        ran(std::async(std::launch::async, [this] { return server.run(); })) {}

  Membership membership;
  TableServer server;
  std::future<std::string> ran;
};

struct Trained {
  Trained(const std::string& store, int rank, int workers, int64_t attempt = 0)
      : membership({.address = store,
                    .token = "secret",
                    .self = {.role = "worker",
                             .rank = rank,
                             .host = "here",
                             .pid = rank,
                             .attempt = attempt}}),
        worker(membership,
               {.role = {.index = rank,
                         .workers = workers,
                         .server_endpoints = std::vector<std::string>(kServers, "127.0.0.1:1")}}) {}

  // What a startup program leaves.
  void draw(float value) {
    for (const auto& [name, count] : {std::pair("w", 36), std::pair("b", 4)}) {
      scope.var(name) =
          Tensor::of<float>(std::vector<float>(static_cast<size_t>(count), value), Shape{count});
    }
  }
  std::vector<float> value(const char* name) {
    const std::span<float> all = scope.find(name)->span<float>();
    return {all.begin(), all.end()};
  }

  void step(float gradient) {
    const std::vector<float> w(36, gradient), b(4, 2 * gradient);
    worker.worker()->push_dense(0, {w, b}, 1);
    worker.worker()->end_step();
  }

  Membership membership;
  TableWorker worker;
  Scope scope;
};

class TableWorkerTest : public testing::Test {
 protected:
  void serve(int workers) {
    for (int i = 0; i < kServers; ++i) {
      servers.push_back(std::make_unique<Served>(store.address(), i, workers));
    }
  }

  rpc::StoreServer store{{.token = "secret"}};
  std::vector<std::unique_ptr<Served>> servers;
};

TEST_F(TableWorkerTest, TheFirstWorkerGivesAndTheOthersTake) {
  Trained first(store.address(), 0, 2), second(store.address(), 1, 2);
  for (Trained* one : {&first, &second}) {
    one->worker.prepare({.mode = passes::PsMode::kSync}, {kDense});
    EXPECT_FALSE(one->worker.can_connect(one->scope));
    one->draw(one == &first ? 1 : 7);
    EXPECT_TRUE(one->worker.can_connect(one->scope));
  }
  // In any order; the servers come last.
  auto connected = std::async(std::launch::async, [&] { second.worker.connect(second.scope); });
  auto began = std::async(std::launch::async, [&] { first.worker.connect(first.scope); });
  serve(2);
  connected.get();
  began.get();
  EXPECT_THAT(second.value("w"), Each(1));
  EXPECT_THAT(second.value("b"), Each(1));

  auto stepped = std::async(std::launch::async, [&] { second.step(3); });
  first.step(1);
  stepped.get();
  first.worker.take_dense(first.scope);
  EXPECT_THAT(first.value("w"), Each(-1)) << "1 - (1 + 3) / 2";
  EXPECT_THAT(first.value("b"), Each(-3));

  first.worker.stop();
  second.step(1);  // a round of its own
  second.worker.stop();
  for (const auto& one : servers) EXPECT_EQ(one->ran.get(), "");
}

TEST_F(TableWorkerTest, AWorkerThatIsStartedAgainTakesWhatIsThere) {
  serve(1);
  {
    Trained first(store.address(), 0, 1);
    first.worker.prepare({.mode = passes::PsMode::kHalfAsync}, {kDense});
    first.draw(1);
    first.worker.connect(first.scope);
    first.step(1);
    first.membership.abandon("it was killed");
  }
  Trained again(store.address(), 0, 1, 1);
  again.worker.prepare({.mode = passes::PsMode::kHalfAsync}, {kDense});
  again.draw(9);
  again.worker.connect(again.scope);
  EXPECT_THAT(again.value("w"), Each(0)) << "1 - 1: what it draws counts no more";
  again.worker.stop();
  for (const auto& one : servers) EXPECT_EQ(one->ran.get(), "");
}

TEST_F(TableWorkerTest, BarriersAndValuesOfAllWorkers) {
  Trained first(store.address(), 0, 2);
  std::optional<Trained> second(std::in_place, store.address(), 1, 2);
  auto other = std::async(std::launch::async, [&] {
    second->worker.barrier();
    auto all = second->worker.gather("two");
    all = second->worker.gather("four");
    return all;
  });
  first.worker.barrier();
  EXPECT_THAT(first.worker.gather("one"), ElementsAre("one", "two"));
  EXPECT_THAT(first.worker.gather("three"), ElementsAre("three", "four"));
  EXPECT_THAT(other.get(), ElementsAre("three", "four"));

  // One that is gone is not waited for; one that comes again passes what the others have passed.
  second->membership.abandon("it was killed");
  second.reset();
  first.worker.barrier();
  EXPECT_THAT(first.worker.gather("five"), ElementsAre("five", std::nullopt));
  Trained again(store.address(), 1, 2, 1);
  again.worker.barrier();
  auto waits = std::async(std::launch::async, [&] { first.worker.barrier(); });
  EXPECT_EQ(waits.wait_for(200ms), std::future_status::timeout);
  again.worker.stop();
  waits.get();
}

TEST_F(TableWorkerTest, RoundsGoOnWithoutThoseWhoGatherOrWaitAtABarrier) {
  serve(2);
  Trained first(store.address(), 0, 2), second(store.address(), 1, 2);
  auto other = std::async(std::launch::async, [&] {
    second.worker.prepare({.mode = passes::PsMode::kSync}, {kDense});
    second.draw(7);
    second.worker.connect(second.scope);
    for (int step = 0; step < 2; ++step) second.step(1);
    const auto all = second.worker.gather("two");
    second.step(1);
    second.worker.barrier();
    return all;
  });
  first.worker.prepare({.mode = passes::PsMode::kSync}, {kDense});
  first.draw(1);
  first.worker.connect(first.scope);
  first.step(1);
  EXPECT_THAT(first.worker.gather("one"), ElementsAre("one", "two"));
  first.worker.barrier();
  EXPECT_THAT(other.get(), ElementsAre("one", "two"));
  first.worker.take_dense(first.scope);
  EXPECT_THAT(first.value("w"), Each(-2)) << "a step of both, and two of the second alone";
  first.worker.stop();
  second.worker.stop();
  for (const auto& one : servers) EXPECT_EQ(one->ran.get(), "");
}

TEST_F(TableWorkerTest, WhatIsSavedIsLoadedOverWhatWasTrained) {
  const TempDir folder;
  serve(1);
  Trained first(store.address(), 0, 1);
  first.worker.prepare({.mode = passes::PsMode::kSync}, {kDense});
  const std::string sentence = " has not connected to its servers yet: call fleet.init_worker() ";
  for (const auto& early : std::vector<std::function<void()>>{
           [&] { first.worker.save(folder.path()); },
           [&] { first.worker.load(folder.path(), first.scope); }, [&] { first.worker.shrink(1); },
           [&] { first.worker.take_dense(first.scope); }}) {
    EXPECT_THAT(message_of(early), HasSubstr(sentence));
  }
  first.draw(1);
  first.worker.connect(first.scope);
  first.step(1);
  EXPECT_THAT(message_of([&] { first.worker.save(folder.path(), 3); }),
              HasSubstr("mode 0 (all rows), 1 (all rows, and deltas follow) or 2"));
  first.worker.save(folder.path());
  EXPECT_THAT(folder.names(), testing::UnorderedElementsAre("__manifest__", "__tables__"));
  first.step(1);
  first.worker.load(folder.path(), first.scope);
  EXPECT_THAT(first.value("w"), Each(0));
  EXPECT_THAT(first.value("b"), Each(-1));
  EXPECT_EQ(first.worker.shrink(1), 0) << "no table is sparse";
  first.worker.stop();
  for (const auto& one : servers) EXPECT_EQ(one->ran.get(), "");
}

TEST_F(TableWorkerTest, RefusesWhatHasNoValue) {
  serve(1);
  Trained first(store.address(), 0, 1);
  EXPECT_THROW(first.worker.connect(first.scope), Error);
  first.worker.prepare({.mode = passes::PsMode::kAsync}, {kDense});
  try {
    first.worker.connect(first.scope);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("run the startup program before fleet.init_worker()"));
  }
  for (const auto& one : servers) one->server.stop();
}

TEST_F(TableWorkerTest, WaitsEndWithTheJob) {
  Trained first(store.address(), 0, 1);
  first.worker.prepare({.mode = passes::PsMode::kAsync}, {kDense});
  first.draw(1);
  auto waits = std::async(std::launch::async, [&] { first.worker.connect(first.scope); });
  store.stop("server 0 failed");
  try {
    waits.get();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("server 0 failed"));
  }
}

}  // namespace
}  // namespace flotilla::job
