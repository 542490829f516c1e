#include "flotilla/passes/strategy_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/testing/errors.h"

namespace flotilla::passes {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Unsupported, SaysNothingOfDefaults) {
  EXPECT_THAT(unsupported(DistributedStrategy()), IsEmpty());
  EXPECT_THAT(unsupported(FluidStrategy()), IsEmpty());
}

TEST(Unsupported, SaysWhatHappensInstead) {
  DistributedStrategy strategy;
  strategy.set("recompute", true);
  strategy.set("sync_batch_norm", true);
  strategy.set("nccl_comm_num", 2);
  EXPECT_THAT(unsupported(strategy),
              ElementsAre("strategy.recompute = True has no effect yet: activations are kept, "
                          "which takes more memory and gives the same results.",
                          "strategy.nccl_comm_num = 2 has no effect yet: one ring is enough."));
  FluidStrategy fluid;
  fluid.set("use_amp", true);
  EXPECT_THAT(unsupported(fluid), ElementsAre("strategy.use_amp = True has no effect yet: all "
                                              "arithmetic stays in the type of the parameters."));
}

TEST(CheckStrategy, RefusesWhatCannotBeMeant) {
  const auto refusal = [](const std::string& name, const Setting& value) {
    DistributedStrategy strategy;
    strategy.set(name, value);
    return refusal_of([&] { check(strategy); });
  };
  EXPECT_EQ(refusal("fuse_grad_size_in_MB", 0),
            "strategy.fuse_grad_size_in_MB must be 1 or more, but is 0");
  EXPECT_EQ(refusal("gradient_merge_configs", {{"k_steps", 0}}),
            "strategy.gradient_merge_configs[\"k_steps\"] must be 1 or more, but is 0");
  EXPECT_EQ(refusal("gradient_scale_configs", {{"scale_strategy", "mean"}}),
            "strategy.gradient_scale_configs[\"scale_strategy\"] must be \"avg\", \"sum\" or "
            "\"customized\", but is \"mean\"");
  EXPECT_EQ(refusal("amp", true), "(not refused)");
}

TEST(CheckStrategy, RefusesContradictions) {
  DistributedStrategy strategy;
  strategy.set("lars", true);
  strategy.set("lamb", true);
  EXPECT_REFUSED(check(strategy), "strategy.lars and strategy.lamb cannot both be on");
}

}  // namespace
}  // namespace flotilla::passes
