#include "flotilla/fleet/servers.h"

#include "flotilla/testing/training.h"

namespace flotilla::fleet {
namespace {

using passes::DistributedStrategy;
using passes::PsMode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Servers : public passes::TrainingTest {
 protected:
  const Role role_ = {.workers = 2, .server_endpoints = {"127.0.0.1:6174"}};
};

TEST_F(Servers, MakeTheProgramThatOfAWorker) {
  layers::sgd(0.5).minimize(linear());
  const AppliedServers made = apply_servers(*main_, *startup_, role_, DistributedStrategy());
  EXPECT_THAT(made.applied.passes, ElementsAre("ps_split"));
  EXPECT_THAT(made.applied.notices, IsEmpty());
  EXPECT_EQ(made.options, passes::PsOptions());
  ASSERT_EQ(made.tables.size(), 1);
  EXPECT_EQ(made.tables[0].width, 4);
  EXPECT_EQ(main_->global_block().count("sgd"), 0);
  EXPECT_EQ(main_->global_block().count("send_barrier"), 1);
  EXPECT_REFUSED(apply_servers(*main_, *startup_, role_, DistributedStrategy()),
                 "the program is already that of a worker with parameter servers");
}

TEST_F(Servers, RefuseACollectiveJob) {
  layers::sgd(0.5).minimize(linear());
  EXPECT_REFUSED(apply_servers(*main_, *startup_, {.collective = true}, DistributedStrategy()),
                 "this process is of a collective job, which has no parameter servers");
}

TEST_F(Servers, SayWhatTheyDoNotHave) {
  layers::sgd(0.5).minimize(linear());
  DistributedStrategy strategy;
  strategy.set("gradient_merge", true);
  strategy.set("a_sync_configs", {{"thread_pool_size", 4}, {"send_queue_size", 4}});
  EXPECT_THAT(
      apply_servers(*main_, *startup_, role_, strategy).applied.notices,
      ElementsAre("strategy.gradient_merge = True has no effect yet: every step is pushed.",
                  "strategy.a_sync_configs[\"thread_pool_size\"] = 4 has no effect yet: one thread "
                  "sends a step's gradients, of all variables together."));
}

TEST_F(Servers, SayThatTheyDecayTheRowsOfAStep) {
  const layers::Variable rows = layers::embedding(layers::data("ids", {-1}, i64), 100, 8,
                                                  {.is_sparse = true, .weight = {.name = "emb"}});
  layers::sgd(0.5, layers::l2_decay(0.25f)).minimize(layers::mean(rows));
  DistributedStrategy strategy;
  strategy.set("gradient_merge", true);
  EXPECT_THAT(
      apply_servers(*main_, *startup_, role_, strategy).applied.notices,
      ElementsAre("the regularizer of the sparse table \"emb\" decays the rows that a step looks "
                  "up; in one process it decays all rows",
                  "strategy.gradient_merge = True has no effect yet: every step is pushed."));
}

TEST(PsOptions, FollowTheStrategy) {
  DistributedStrategy strategy;
  EXPECT_EQ(ps_options(strategy).mode, PsMode::kAsync);
  strategy.set("a_sync", true);
  EXPECT_EQ(ps_options(strategy).mode, PsMode::kAsync);
  strategy.set("a_sync_configs", {{"k_steps", 10}, {"max_merge_var_num", 3}});
  EXPECT_EQ(ps_options(strategy).mode, PsMode::kGeo);
  EXPECT_EQ(ps_options(strategy).geo_steps, 10);
  EXPECT_EQ(ps_options(strategy).max_merge, 3);
  EXPECT_EQ(ps_options(strategy).send_queue, 0);
  strategy.set("a_sync_configs", {{"send_queue_size", 16}});
  EXPECT_EQ(ps_options(strategy).send_queue, 16);
  strategy.set("a_sync", false);
  EXPECT_EQ(ps_options(strategy).mode, PsMode::kSync);
}

TEST(PsOptions, FollowTheWordsOf18) {
  EXPECT_EQ(ps_options(TranspilerSettings()).mode, PsMode::kSync);
  TranspilerSettings settings = {.sync_mode = false};
  EXPECT_EQ(ps_options(settings).mode, PsMode::kHalfAsync);
  settings.runtime_split_send_recv = true;
  EXPECT_EQ(ps_options(settings).mode, PsMode::kAsync);
  settings.half_async = true;
  EXPECT_EQ(ps_options(settings).mode, PsMode::kHalfAsync);
  // What StrategyFactory.create_sync_strategy() holds.
  settings.completely_not_async = true;
  EXPECT_EQ(ps_options(settings).mode, PsMode::kSync);
  const passes::PsOptions geo =
      ps_options({.sync_mode = false, .geo_sgd_mode = true, .geo_sgd_need_push_nums = 7});
  EXPECT_EQ(geo.mode, PsMode::kGeo);
  EXPECT_EQ(geo.geo_steps, 7);
  settings.communicator = {{"communicator_send_queue_size", "20"},
                           {"communicator_max_merge_var_num", "2"},
                           {"communicator_min_send_grad_num_before_recv", "5"},
                           {"communicator_is_sgd_optimizer", "1"}};
  EXPECT_EQ(ps_options(settings).send_queue, 20);
  EXPECT_EQ(ps_options(settings).max_merge, 2);
  EXPECT_EQ(ps_options(settings).pushes_per_refresh, 5);
  settings.communicator = {{"communicator_send_queue_size", "many"}};
  EXPECT_REFUSED(ps_options(settings),
                 "communicator_send_queue_size must be a number from 1 on, but is \"many\"");
}

}  // namespace
}  // namespace flotilla::fleet
