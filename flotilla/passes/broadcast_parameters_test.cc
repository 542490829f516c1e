#include "flotilla/passes/broadcast_parameters.h"

#include "flotilla/layers/norm.h"
#include "flotilla/testing/training.h"

namespace flotilla::passes {
namespace {

class BroadcastParameters : public TrainingTest {
 protected:
  void broadcast(const BroadcastOptions& options) {
    broadcast_parameters(*startup_, options);
    verify(*startup_, Stage::kParallel);
  }
  // What the pass appended.
  std::string sent() const {
    const std::string ops = startup_ops();
    const size_t begin = ops.find("c_gen_nccl_id");
    return begin == std::string::npos ? "" : ops.substr(begin);
  }
};

TEST_F(BroadcastParameters, SendsParametersAndOptimizerState) {
  layers::momentum(0.5).minimize(linear());
  broadcast({.rank = 1, .nranks = 2, .endpoints = {"127.0.0.1:6170", "127.0.0.1:6171"}});
  EXPECT_EQ(sent(), text(R"(
    c_gen_nccl_id() -> comm_id_0 {endpoint="127.0.0.1:6171", other_endpoints=["127.0.0.1:6170"], rank=1, ring_id=0}
    c_comm_init(X=comm_id_0) {endpoints="127.0.0.1:6170,127.0.0.1:6171", nranks=2, rank=1, ring_id=0}
    c_broadcast(X=fc_0.w_0) -> fc_0.w_0 {ring_id=0, root=0, use_calc_stream=false}
    c_broadcast(X=fc_0.b_0) -> fc_0.b_0 {ring_id=0, root=0, use_calc_stream=false}
    c_broadcast(X=learning_rate_0) -> learning_rate_0 {ring_id=0, root=0, use_calc_stream=false}
    c_broadcast(X=fc_0.b_0_velocity_0) -> fc_0.b_0_velocity_0 {ring_id=0, root=0, use_calc_stream=false}
    c_broadcast(X=fc_0.w_0_velocity_0) -> fc_0.w_0_velocity_0 {ring_id=0, root=0, use_calc_stream=false}
    c_sync_comm_stream(X=[fc_0.w_0, fc_0.b_0, learning_rate_0, fc_0.b_0_velocity_0, fc_0.w_0_velocity_0]) -> [fc_0.w_0, fc_0.b_0, learning_rate_0, fc_0.b_0_velocity_0, fc_0.w_0_velocity_0] {ring_id=0}
  )"));
}

TEST_F(BroadcastParameters, SendsStatisticsOfBatchNormToo) {
  layers::batch_norm(layers::data("x", {-1, 2, 4, 4}));
  broadcast({.nranks = 2});
  EXPECT_EQ(startup_->global_block().count("c_broadcast"), 4);
}

TEST_F(BroadcastParameters, SendsOnlyWhatIsNew) {
  linear();
  broadcast({.nranks = 2});
  const int64_t before = startup_->global_block().count("c_broadcast");
  layers::sgd(0.5).minimize(linear());
  broadcast({.nranks = 2});
  EXPECT_EQ(before, 2);
  EXPECT_EQ(startup_->global_block().count("c_broadcast"), 5);
  EXPECT_EQ(startup_->global_block().count("c_comm_init"), 1);
  const std::string whole = startup_ops();
  broadcast({.nranks = 2});
  EXPECT_EQ(startup_ops(), whole);
}

TEST_F(BroadcastParameters, RefusesContradictions) {
  EXPECT_REFUSED(broadcast({.rank = 2, .nranks = 2}), "rank must lie in [0, 2), but is 2");
  EXPECT_REFUSED(broadcast({.nranks = 2, .endpoints = {"a:1"}}),
                 "2 ranks need as many endpoints, but there are 1");
}

}  // namespace
}  // namespace flotilla::passes
