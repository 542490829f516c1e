#include "flotilla/fleet/pipeline.h"

#include "flotilla/layers/norm.h"
#include "flotilla/testing/training.h"

namespace flotilla::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Pipeline : public passes::TrainingTest {
 protected:
  static Role rank(int64_t index, int64_t workers) {
    Role role = {.collective = true, .index = index, .workers = workers};
    for (int64_t i = 0; i < workers; ++i) {
      role.worker_endpoints.push_back(fmt::format("127.0.0.1:{}", 6170 + i));
    }
    return role;
  }
  template <typename Strategy>
  Applied apply(const Strategy& strategy, const Role& role = rank(0, 2)) {
    return apply_collective(*main_, *startup_, role, strategy);
  }
  int64_t count(std::string_view type) const { return main_->global_block().count(type); }
};

TEST_F(Pipeline, ExchangesInBucketsByDefault) {
  layers::sgd(0.5).minimize(linear());
  const Applied applied = apply(passes::DistributedStrategy());
  EXPECT_THAT(applied.passes,
              ElementsAre("insert_all_reduce", "fuse_all_reduce", "broadcast_parameters"));
  EXPECT_THAT(applied.notices, IsEmpty());
  EXPECT_EQ(applied.merging, "gradients are averaged over workers");
  EXPECT_THAT(applied.fusion, HasSubstr("Find all_reduce operators: 2."));
  EXPECT_EQ(count("fused_all_reduce"), 1);
  EXPECT_THAT(startup_ops(), HasSubstr("c_comm_init(X=comm_id_0) {endpoints=\"127.0.0.1:6170,"
                                       "127.0.0.1:6171\", nranks=2, rank=0, ring_id=0}"));
}

TEST_F(Pipeline, LeavesAProcessAloneAsItIs) {
  layers::sgd(0.5).minimize(linear());
  const std::string main = ops(), startup = startup_ops();
  const Applied applied = apply(passes::DistributedStrategy(), rank(0, 1));
  EXPECT_THAT(applied.passes, IsEmpty());
  EXPECT_EQ(applied.merging, "");
  EXPECT_EQ(ops(), main);
  EXPECT_EQ(startup_ops(), startup);
}

TEST_F(Pipeline, IsSwitchedByTheStrategy) {
  passes::DistributedStrategy strategy;
  strategy.set("fuse_all_reduce_ops", false);
  strategy.set("sync_batch_norm", true);
  strategy.set("lars", true);
  strategy.set("calc_comm_same_stream", true);
  strategy.set("gradient_scale_configs", {{"scale_strategy", "sum"}});
  const layers::Variable x = layers::data("x", {-1, 2, 4, 4});
  layers::momentum(0.5).minimize(layers::mean(layers::batch_norm(x)));
  const Applied applied = apply(strategy);
  EXPECT_THAT(applied.passes,
              ElementsAre("lars", "sync_batch_norm", "insert_all_reduce", "broadcast_parameters"));
  EXPECT_EQ(applied.merging, "gradients are added up");
  EXPECT_EQ(count("c_allreduce_sum"), 2);
  EXPECT_EQ(count("c_sync_comm_stream"), 0);
  EXPECT_EQ(count("sync_batch_norm_grad"), 1);
  EXPECT_EQ(count("lars_momentum"), 2);
  EXPECT_EQ(count("scale"), 0);
}

TEST_F(Pipeline, MergesBeforeItExchanges) {
  passes::DistributedStrategy strategy;
  strategy.set("gradient_merge", true);
  strategy.set("gradient_merge_configs", {{"k_steps", 4}});
  layers::sgd(0.5).minimize(linear());
  const Applied applied = apply(strategy);
  EXPECT_THAT(applied.passes, ElementsAre("gradient_merge", "insert_all_reduce", "fuse_all_reduce",
                                          "broadcast_parameters"));
  EXPECT_EQ(applied.merging, "gradients are averaged over workers, 4 steps at a time");
  EXPECT_EQ(main_->block(1).count("fused_all_reduce"), 1);
  EXPECT_EQ(startup_->global_block().count("c_broadcast"), 6);
}

TEST_F(Pipeline, ExchangesParametersInsteadOfGradients) {
  passes::DistributedStrategy strategy;
  strategy.set("localsgd", true);
  layers::sgd(0.5).minimize(linear());
  const Applied applied = apply(strategy);
  EXPECT_THAT(applied.passes, ElementsAre("local_sgd", "broadcast_parameters"));
  EXPECT_EQ(applied.merging, "parameters are averaged over workers in every step");
  EXPECT_EQ(count("c_allreduce_sum"), 0);
}

TEST_F(Pipeline, MeasuresBucketsByTheStrategy) {
  passes::DistributedStrategy strategy;
  strategy.set("last_comm_group_size_MB", 0.000005);  // 5 bytes
  layers::sgd(0.5).minimize(linear());
  apply(strategy);
  EXPECT_EQ(count("fused_all_reduce"), 2);
}

TEST_F(Pipeline, SaysWhatIsNotThere) {
  passes::DistributedStrategy strategy;
  strategy.set("amp", true);
  strategy.set("lamb", true);
  layers::sgd(0.5).minimize(linear());
  EXPECT_THAT(apply(strategy).notices,
              ElementsAre(HasSubstr("strategy.amp = True has no effect yet"),
                          HasSubstr("strategy.lamb = True has no effect")));
}

TEST_F(Pipeline, PrintsTheProgramAfterAPass) {
  layers::sgd(0.5).minimize(linear());
  const EnvGuard dump("FLT_DUMP", "insert_all_reduce");
  ::testing::internal::CaptureStderr();
  apply(passes::DistributedStrategy());
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("after insert_all_reduce ("));
  EXPECT_THAT(said, HasSubstr("c_allreduce_sum(X=fc_0.w_0@GRAD)"));
}

TEST_F(Pipeline, TakesTheStrategyOf18) {
  passes::FluidStrategy strategy;
  strategy.set("nccl_comm_num", 2);
  layers::sgd(0.5).minimize(linear());
  const Applied applied = apply(strategy, rank(3, 4));
  EXPECT_THAT(applied.passes,
              ElementsAre("insert_all_reduce", "fuse_all_reduce", "broadcast_parameters"));
  EXPECT_THAT(applied.notices, ElementsAre(HasSubstr("strategy.nccl_comm_num = 2")));
  EXPECT_THAT(ops(), HasSubstr("scale=0.25"));
}

TEST_F(Pipeline, KnowsTheCollectiveModesOf18) {
  passes::FluidStrategy strategy;
  layers::sgd(0.5).minimize(linear());
  strategy.set("collective_mode", "gossip");
  EXPECT_REFUSED(apply(strategy),
                 "collective_mode must be \"grad_allreduce\" or \"local_sgd\", but is \"gossip\"");
  strategy.set("collective_mode", "local_sgd");
  EXPECT_THAT(apply(strategy).passes, ElementsAre("local_sgd", "broadcast_parameters"));
}

TEST_F(Pipeline, MayBeCalledAfterEachMinimize) {
  const layers::Variable x = layers::data("x", {-1, 3});
  for (int i = 0; i < 2; ++i) {
    const layers::Variable loss = layers::mean(layers::fc(x, 2, {.bias = layers::kNoBias}));
    layers::sgd(0.5).minimize(loss);
    apply(passes::DistributedStrategy());
  }
  EXPECT_EQ(count("fused_all_reduce"), 2);
  EXPECT_EQ(count("scale"), 2);
  EXPECT_EQ(startup_->global_block().count("c_broadcast"), 4);
}

// A strategy that changes the forward ops: the loss goes through tanh.
void squash_loss(passes::PassContext& c) {
  Var& squashed = layers::tanh(*c.loss);
  c.loss = &squashed;
}

// One that changes gradients: the last parameter has none.
void freeze_last(passes::PassContext& c) {
  EXPECT_EQ(c.main.global_block().count("sgd"), 0);
  c.params_grads->pop_back();
}

TEST_F(Pipeline, PassesTakePartAroundTheBackwardPass) {
  const std::vector<passes::PassRow> rows = {
      {.name = "squash_loss",
       .stage = passes::PassStage::kBeforeBackward,
       .option = "amp",
       .run = squash_loss},
      {.name = "freeze_last", .stage = passes::PassStage::kAfterBackward, .run = freeze_last}};
  passes::DistributedStrategy strategy;
  strategy.set("amp", true);
  {
    const StrategyStages stages(rank(0, 2), strategy, rows);
    layers::sgd(0.5).minimize(linear());
    EXPECT_THAT(stages.notices(), IsEmpty());
  }
  EXPECT_EQ(count("tanh"), 1);
  EXPECT_EQ(count("tanh_grad"), 1);
  EXPECT_EQ(count("sgd"), 1);

  layers::sgd(0.5).minimize(linear());  // the stages are over
  EXPECT_EQ(count("tanh"), 1);
  EXPECT_EQ(count("sgd"), 3);
}

TEST_F(Pipeline, SaysWhatIsLeftOutByName) {
  layers::sgd(0.5).minimize(linear());
  const EnvGuard skip("FLT_SKIP_PASSES", "fuse_all_reduce");
  const Applied applied = apply(passes::DistributedStrategy());
  EXPECT_THAT(applied.passes, ElementsAre("insert_all_reduce", "broadcast_parameters"));
  EXPECT_THAT(applied.notices, ElementsAre("FLT_SKIP_PASSES leaves out fuse_all_reduce: gradients "
                                           "are exchanged in a few buckets."));
}

TEST_F(Pipeline, RefusesOtherRoles) {
  layers::sgd(0.5).minimize(linear());
  EXPECT_REFUSED(apply(passes::DistributedStrategy(), {.server_endpoints = {"a:1"}}),
                 "gradients are exchanged between the workers of a collective job, but this "
                 "process is of a job with parameter servers");
}

}  // namespace
}  // namespace flotilla::fleet
