// A job of C++ programs: a server as a thread, and a worker.

#include "flotilla/job/fleet.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <future>

#include "flotilla/flotilla.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/free_port.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/temp_dir.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::job {
namespace {

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
  layers::sgd(0.1).minimize(layers::mean(layers::square(y)));
  const std::vector<Feed> feeds = {{"ids", ints({0, 3})}};
  Tensor expected;
  {  // the server hosts the store, and ends when the worker has left
    Fleet fleet(role);
    passes::DistributedStrategy strategy;
    strategy.set("a_sync", false);
    fleet.distribute(*main_, *startup_, strategy);
    Session session(1, fleet);
    session.run(*startup_);
    fleet.init_worker(session.scope());

    const auto test = main_->clone(true)->prune({"ids"}, {y.name()});
    session.run(*main_, feeds);
    expected = session.run(*test, feeds, y)[0];
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

}  // namespace
}  // namespace flotilla::job
