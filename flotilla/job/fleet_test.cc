// A job of C++ programs: a server as a thread, and a worker.

#include "flotilla/job/fleet.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <future>

#include "flotilla/flotilla.h"
#include "flotilla/job/even_loader.h"
#include "flotilla/op/build.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/free_port.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/temp_dir.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::job {
namespace {

using ::testing::ElementsAre;
using FleetTest = layers::LayersTest;

TEST_F(FleetTest, WhatAWorkerOfServersSavesComesBack) {
  const TempDir folder;
  const fleet::Role role = {
      .server_endpoints = {fmt::format("127.0.0.1:{}", free_port())},
  };
  fleet::Role server = role;
  server.kind = fleet::RoleKind::kServer;
  server.endpoint = role.server_endpoints[0];
  auto served = std::async(std::launch::async, [&] { return Fleet(server).run_server(); });

  const layers::Variable ids = layers::data("ids", {-1}, i64);
  const layers::Variable rows =
      layers::embedding(ids, 5, 2, {.is_sparse = true, .weight = {.name = "emb"}});
  const layers::Variable y = layers::fc(rows, 1);
  const layers::Variable loss = layers::mean(layers::square(y));
  const auto of_one_process = main_->clone(true);
  const std::vector<Feed> feeds = {{"ids", ints({0, 3})}};
  Tensor expected;
  {  // the server hosts the store, and ends when the worker has left
    Fleet fleet(role);
    passes::DistributedStrategy strategy;
    strategy.set("a_sync", false);
    layers::Optimizer sgd = layers::sgd(0.1);
    const Fleet::Minimized minimized = fleet.minimize(sgd, loss, strategy);
    EXPECT_EQ(minimized.params_grads.size(), 3);
    Session session(1, fleet);
    session.run(*startup_);

    const auto test = main_->clone(true)->prune({"ids"}, {y.name()});
    EXPECT_FALSE(fleet.connected());
    session.run(*main_, feeds);  // connects
    EXPECT_TRUE(fleet.connected());
    expected = session.run(*test, feeds, y)[0];
    // The rows are on the servers, though the program does not say so.
    EXPECT_THAT(session.run(*of_one_process, feeds, y)[0], equal_to(expected));
    fleet.save_inference_model(folder.file("model"), *main_, {"ids"}, {y.name()}, session.scope());
    fleet.save_persistables(folder.file("all"), *main_, session.scope());
    session.run(*main_, feeds);
    EXPECT_NE(values_of(session.run(*test, feeds, y)[0]), values_of(expected));
    fleet.load_model(folder.file("all"), session.scope());
    EXPECT_THAT(session.run(*test, feeds, y)[0], equal_to(expected));
    EXPECT_EQ(fleet.shrink(1), 0);
    EXPECT_EQ(fleet.shrink(1), 2);
  }
  EXPECT_EQ(served.get(), 0);

  Session alone;
  const InferenceModel model = alone.load_inference_model(folder.file("model"));
  EXPECT_THAT(alone.run(*model.program, feeds, model.fetches)[0], equal_to(expected));
}

TEST_F(FleetTest, HooksAreCalledBeforeEachRunOfAProgramAndOfItsCopies) {
  Fleet fleet(fleet::Role{.collective = true});
  std::vector<const Scope*> seen;
  fleet.on_run(*main_, [&](Scope& scope) { seen.push_back(&scope); });
  const auto copy = main_->clone(), other = main_->clone();
  fleet.copied(*main_, *copy);
  Session session(1, fleet);
  for (const auto& program : {main_, copy, other}) session.run(*program);
  EXPECT_THAT(seen, ElementsAre(&session.scope(), &session.scope()));
}

TEST_F(FleetTest, TheLearningRateFollowsAScheduleInEachRun) {
  Fleet fleet(fleet::Role{.collective = true});
  const layers::Variable x = layers::data("x", {-1, 2});
  const layers::Variable loss = layers::mean(layers::fc(x, 1));
  layers::Optimizer sgd = layers::sgd(0.1);
  fleet.minimize(sgd, loss);
  const std::string rate = sgd.learning_rate_var(main_).name;
  double epoch = 0;
  fleet.follow(*main_, rate, [&] { return 1 / ++epoch; });
  const auto copy = main_->clone();
  fleet.copied(*main_, *copy);
  Session session(1, fleet);
  session.run(*startup_);
  EXPECT_FLOAT_EQ(item(session.get(rate)), 0.1f);
  for (const auto& program : {main_, copy}) {
    session.run(*program, {{"x", tensor({1, 2}, Shape{1, 2})}});
    EXPECT_DOUBLE_EQ(item(session.get(rate)), 1 / epoch);
  }
  EXPECT_EQ(epoch, 2);
}

TEST_F(FleetTest, AProgramThatRunsOnTheLastBatchOfALoaderIsWhatTheLoaderFeeds) {
  Fleet fleet(fleet::Role{.collective = true});
  const auto make_program = [](bool exchanges) {
    auto program = std::make_shared<Program>();
    Block& block = program->global_block();
    for (const char* name : {"w", "w@GRAD", "rate"}) block.add_var({.name = name, .shape = {1}});
    if (exchanges) {
      append_op(block, "c_allreduce_sum", {{"X", {"w@GRAD"}}}, {{"Out", {"w@GRAD"}}},
                {{"ring_id", 0}});
    }
    append_op(block, "sgd", {{"Param", {"w"}}, {"Grad", {"w@GRAD"}}, {"LearningRate", {"rate"}}},
              {{"ParamOut", {"w"}}});
    return program;
  };
  const auto exchanging = make_program(true), alone = make_program(false);
  Scope scope;
  const auto loader = fleet.even_loader();
  loader->begin();
  EXPECT_EQ(fleet.next_batch(loader, true), Executor::Next::kRun);
  fleet.before_run(*alone, scope);
  EXPECT_TRUE(loader->repeats());  // it feeds nobody that is known
  fleet.before_run(*exchanging, scope);
  EXPECT_FALSE(loader->repeats());
  EXPECT_EQ(fleet.next_batch(loader, false), Executor::Next::kEnd);
}

TEST_F(FleetTest, WorkersThatHaveNotMetAreRefused) {
  Fleet fleet;
  Scope scope;
  EXPECT_EQ(fleet.met(), nullptr);
  EXPECT_REFUSED(fleet.barrier_worker(),
                 "this process has not joined the other workers of its job: call fleet.init() or "
                 "paddle.distributed.init_parallel_env() first");
  EXPECT_REFUSED(fleet.load_model("model", scope),
                 "this process keeps no tables: call fleet.init_server() first");
}

}  // namespace
}  // namespace flotilla::job
