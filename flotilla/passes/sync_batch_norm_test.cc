#include "flotilla/passes/sync_batch_norm.h"

#include "flotilla/layers/norm.h"
#include "flotilla/testing/training.h"

namespace flotilla::passes {
namespace {

using ::testing::Contains;
using ::testing::Not;

class SyncBatchNorm : public TrainingTest {
 protected:
  layers::Variable norm() { return layers::batch_norm(layers::data("x", {-1, 2, 4, 4})); }
};

TEST_F(SyncBatchNorm, TakesBothSides) {
  layers::sgd(0.5).minimize(layers::mean(norm()));
  const std::string before = ops();
  EXPECT_EQ(sync_batch_norm(*main_), 1);
  verify(*main_, Stage::kParallel);
  std::string expected = before;
  for (const std::string name : {"batch_norm(", "batch_norm_grad("}) {
    expected.replace(expected.find(name), name.size(), "sync_" + name);
  }
  EXPECT_EQ(ops(), expected);
}

TEST_F(SyncBatchNorm, LeavesRunningStatisticsAlone) {
  norm();
  main_->global_block().op(0).set_attr("use_global_stats", true);
  EXPECT_EQ(sync_batch_norm(*main_), 0);
  EXPECT_THAT(types_of(main_->global_block()), Not(Contains("sync_batch_norm")));
}

}  // namespace
}  // namespace flotilla::passes
