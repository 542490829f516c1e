#include "flotilla/passes/local_sgd.h"

#include "flotilla/testing/training.h"

namespace flotilla::passes {
namespace {

class LocalSgd : public TrainingTest {};

TEST_F(LocalSgd, AveragesParametersInEveryKthStep) {
  layers::sgd(0.5).minimize(linear());
  local_sgd(*main_, *startup_, {.nranks = 4, .steps = 3, .begin = 2});
  verify(*main_, Stage::kParallel);
  verify(*startup_, Stage::kParallel);
  const std::string ops = training_ops();
  EXPECT_EQ(ops.substr(ops.find("increment")), text(R"(
    increment(X=local_sgd_step) -> local_sgd_step {step=1.0}
    fill_constant() -> local_sgd_k {dtype=3, shape=[1L], value=3.0}
    elementwise_mod(X=local_sgd_step, Y=local_sgd_k) -> local_sgd_rest
    fill_constant() -> local_sgd_zero {dtype=3, shape=[1L], value=0.0}
    equal(X=local_sgd_rest, Y=local_sgd_zero) -> local_sgd_due
    fill_constant() -> local_sgd_until {dtype=3, shape=[1L], value=2.0}
    less_equal(X=local_sgd_step, Y=local_sgd_until) -> local_sgd_early
    logical_or(X=local_sgd_due, Y=local_sgd_early) -> local_sgd_now
    conditional_block(Cond=local_sgd_now, Input=[fc_0.b_0, fc_0.w_0]) -> [fc_0.b_0, fc_0.w_0] {is_scalar_condition=true, sub_block=block 1}
  )"));
  EXPECT_EQ(lines_from(main_->block(1), kOptimizeRole), text(R"(
    c_allreduce_sum(X=fc_0.b_0) -> fc_0.b_0 {ring_id=0, use_calc_stream=true}
    scale(X=fc_0.b_0) -> fc_0.b_0 {scale=0.25}
    c_allreduce_sum(X=fc_0.w_0) -> fc_0.w_0 {ring_id=0, use_calc_stream=true}
    scale(X=fc_0.w_0) -> fc_0.w_0 {scale=0.25}
  )"));
}

TEST_F(LocalSgd, RefusesAProgramWithoutUpdates) {
  linear();
  EXPECT_REFUSED(local_sgd(*main_, *startup_, {.nranks = 2}),
                 "local_sgd needs a program with updates, but there are none");
}

}  // namespace
}  // namespace flotilla::passes
