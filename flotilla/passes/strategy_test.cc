#include "flotilla/passes/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/passes/strategy.pb.h"
#include "flotilla/testing/errors.h"

namespace flotilla::passes {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(StrategyTest, HasPaddlesDefaults) {
  const DistributedStrategy strategy;
  EXPECT_EQ(strategy.get("a_sync"), Setting(true));
  EXPECT_EQ(strategy.get("fuse_grad_size_in_MB"), Setting(32));
  EXPECT_EQ(strategy.get("gradient_merge_configs"), Setting({{"k_steps", 1}, {"avg", true}}));
  EXPECT_FALSE(strategy.is_set("a_sync"));
  EXPECT_EQ(strategy.prototxt(), "");
  EXPECT_EQ(FluidStrategy().get("mode"), Setting("nccl2"));
}

TEST(StrategyTest, KeepsWhatADictDoesNotName) {
  DistributedStrategy strategy;
  strategy.set("gradient_merge_configs", {{"k_steps", 4}});
  strategy.set("gradient_merge_configs", {{"avg", false}});
  EXPECT_EQ(strategy.get("gradient_merge_configs"), Setting({{"k_steps", 4}, {"avg", false}}));
  EXPECT_EQ(strategy.message().gradient_merge_configs().k_steps(), 4);
}

TEST(StrategyTest, ReplacesListsAndForgetsWhatIsSetToNothing) {
  DistributedStrategy strategy;
  const auto checkpoints = [](std::vector<Setting> names) {
    return Setting({{"checkpoints", std::move(names)}});
  };
  strategy.set("recompute_configs", checkpoints({"a", "b"}));
  strategy.set("recompute_configs", checkpoints({"c"}));
  EXPECT_EQ(strategy.message().recompute_configs().checkpoints_size(), 1);
  strategy.set("recompute_configs", {});
  EXPECT_FALSE(strategy.is_set("recompute_configs"));
}

TEST(StrategyTest, StartsAsynchronousTrainingOverWithASync) {
  DistributedStrategy strategy;
  EXPECT_EQ(strategy.message().a_sync_configs().k_steps(), -1);
  strategy.set("a_sync", true);
  EXPECT_EQ(strategy.message().a_sync_configs().k_steps(), 0);
  strategy.set("a_sync_configs", {{"k_steps", 100}});
  EXPECT_EQ(strategy.message().a_sync_configs().k_steps(), 100);
}

TEST(StrategyTest, RefusesUnknownNamesWithTheNearest) {
  DistributedStrategy strategy;
  EXPECT_REFUSED(strategy.set("a_synk", true),
                 "\"a_synk\" is not an option of DistributedStrategy. Did you mean \"a_sync\"?");
  EXPECT_REFUSED(strategy.set("a_sync_configs", {{"k_step", 1}}),
                 "\"k_step\" is not an option of a_sync_configs. Did you mean \"k_steps\"?");
}

TEST(StrategyTest, RefusesValuesOfTheWrongType) {
  DistributedStrategy strategy;
  EXPECT_REFUSED(strategy.set("amp", "yes"), "amp must be True or False, but is \"yes\"");
  EXPECT_REFUSED(strategy.set("a_sync_configs", {{"k_steps", 1.5}}),
                 "a_sync_configs.k_steps must be a whole number, but is 1.5");
  EXPECT_REFUSED(strategy.set("nccl_comm_num", int64_t{1} << 40),
                 "nccl_comm_num must be from -2147483648 to 2147483647, but is 1099511627776");
  EXPECT_REFUSED(strategy.set("recompute_configs", {{"checkpoints", "a"}}),
                 "recompute_configs.checkpoints must be a list, but is \"a\"");
  EXPECT_REFUSED(strategy.set("amp_configs", true),
                 "amp_configs must be a dict of options, but is True");
  EXPECT_REFUSED(strategy.set("mode", "SLOW"),
                 "mode must be one of COLLECTIVE, PS, PIPELINE, HETER, but is \"SLOW\"");
  EXPECT_REFUSED(strategy.set("last_comm_group_size_MB", 0),
                 "last_comm_group_size_MB must be positive, but is 0");
  EXPECT_EQ(strategy.prototxt(), "");
}

TEST(StrategyTest, ChangesNothingWhereADictIsRefusedHalfWay) {
  DistributedStrategy strategy;
  EXPECT_NE(refusal_of([&] {
              strategy.set("gradient_merge_configs", {{"k_steps", 4}, {"avg", "no"}});
            }),
            "(not refused)");
  EXPECT_EQ(strategy.message().gradient_merge_configs().k_steps(), 1);
}

TEST(StrategyTest, TravelsThroughText) {
  DistributedStrategy strategy;
  strategy.set("a_sync", false);
  strategy.set("dgc_configs", {{"sparsity", std::vector<Setting>{0.75, 0.999}}});
  const std::string text = strategy.prototxt();
  EXPECT_EQ(text,
            "a_sync: false\ndgc_configs {\n  sparsity: 0.75\n  sparsity: 0.999\n}\n"
            "a_sync_configs {\n  k_steps: 0\n}\n");
  DistributedStrategy other;
  other.merge_prototxt(text, "s.prototxt");
  EXPECT_EQ(other, strategy);
  const DistributedStrategy copy = other;
  EXPECT_EQ(copy, strategy);
  EXPECT_THAT(refusal_of([&] { other.merge_prototxt("amp: true\nampp: true", "s.prototxt"); }),
              StartsWith("s.prototxt does not hold a DistributedStrategy: line 2, column 5: "));
  EXPECT_EQ(other, strategy);
}

TEST(StrategyTest, DrawsTheGroupsThatAreOn) {
  DistributedStrategy strategy;
  EXPECT_THAT(strategy.overview(), HasSubstr("a_sync=True <-> a_sync_configs"));
  strategy.set("a_sync", false);
  EXPECT_THAT(strategy.overview(), testing::Not(HasSubstr("a_sync_configs")));
  EXPECT_THAT(strategy.overview(), HasSubstr("    |               last_comm_group_size_MB"
                                             "                   1.0                  |\n"));
}

}  // namespace
}  // namespace flotilla::passes
