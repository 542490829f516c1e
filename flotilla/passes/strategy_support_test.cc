#include "flotilla/passes/strategy_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

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
  EXPECT_THAT(
      unsupported(strategy),
      ElementsAre("strategy.recompute = True has no effect yet: activations are kept, "
                  "which takes more memory and gives the same results.",
                  "strategy.nccl_comm_num = 2 has no effect yet: one communicator is enough."));
  FluidStrategy fluid;
  fluid.set("use_amp", true);
  EXPECT_THAT(unsupported(fluid), ElementsAre("strategy.use_amp = True has no effect yet: all "
                                              "arithmetic stays in the type of the parameters."));
}

TEST(Translate, SaysOptionsOf18InWordsOf2x) {
  FluidStrategy fluid;
  fluid.set("collective_mode", "local_sgd");
  fluid.set("sync_batch_norm", true);
  fluid.set("fuse_all_reduce_ops", false);
  fluid.set("gradient_scale_strategy", 1);
  fluid.set("forward_recompute", true);
  fluid.set("recompute_checkpoints", std::vector<Setting>{"h"});
  DistributedStrategy expected;
  expected.set("localsgd", true);
  expected.set("sync_batch_norm", true);
  expected.set("fuse_all_reduce_ops", false);
  expected.set("gradient_scale_configs", {{"scale_strategy", "customized"}});
  expected.set("recompute", true);
  expected.set("recompute_configs", {{"checkpoints", std::vector<Setting>{"h"}}});
  const DistributedStrategy translated = translate(fluid);
  for (const std::string& name : expected.names()) {
    EXPECT_EQ(translated.get(name), expected.get(name)) << name;
  }
}

// What is neither done nor said would change nothing in silence.
TEST(Unsupported, EveryFieldIsDoneOrSaid) {
  const std::set<std::string> done = {"localsgd",
                                      "gradient_merge",
                                      "lars",
                                      "lamb",
                                      "sync_batch_norm",
                                      "fuse_all_reduce_ops",
                                      "calc_comm_same_stream",
                                      "fuse_grad_size_in_MB",
                                      "last_comm_group_size_MB",
                                      "localsgd_configs",
                                      "gradient_merge_configs",
                                      "lars_configs",
                                      "lamb_configs",
                                      "gradient_scale_configs",
                                      "hybrid_configs"};
  const std::set<std::string> of_servers = {"mode", "a_sync", "a_sync_configs",
                                            "downpour_table_param", "fs_client_param"};
  const std::set<std::string> hints = {"build_strategy", "execution_strategy"};
  const DistributedStrategy initial;
  for (const std::string& name : initial.names()) {
    if (done.contains(name) || of_servers.contains(name) || hints.contains(name)) continue;
    if (name.ends_with("_configs") && name != "trainer_desc_configs") {
      // Matters only where the switch is on, and that is said.
      EXPECT_EQ(initial.get(name.substr(0, name.size() - 8)), Setting(false)) << name;
      continue;
    }
    DistributedStrategy changed;
    const Setting value = initial.get(name);
    if (const bool* flag = std::get_if<bool>(&value.value)) {
      changed.set(name, !*flag);
    } else if (std::holds_alternative<std::vector<NamedSetting>>(value.value)) {
      changed.set(name, {{"dump_fields_path", "folder"}});
    } else {
      changed.set(name, 7);
    }
    EXPECT_EQ(unsupported(changed).size(), 1) << name;
  }
}

TEST(Unsupported, OtherKindsOfParallelismAreSaid) {
  DistributedStrategy strategy;
  strategy.set("hybrid_configs", {{"dp_degree", 4}, {"mp_degree", 2}});
  EXPECT_THAT(
      unsupported(strategy),
      ElementsAre("strategy.hybrid_configs[\"mp_degree\"] = 2 has no effect yet: every rank "
                  "computes whole layers."));
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
            "strategy.gradient_scale_configs[\"scale_strategy\"] must be \"avg\", \"samples\", "
            "\"sum\" or \"customized\", but is \"mean\"");
  EXPECT_EQ(refusal("amp", true), "(not refused)");
}

TEST(CheckStrategy, RefusesContradictions) {
  DistributedStrategy strategy;
  strategy.set("lars", true);
  strategy.set("lamb", true);
  EXPECT_REFUSED(check(strategy), "strategy.lars and strategy.lamb cannot both be on");
  DistributedStrategy weighed;
  weighed.set("gradient_scale_configs", {{"scale_strategy", "samples"}});
  check(weighed);
  weighed.set("sync_batch_norm", true);
  EXPECT_REFUSED(check(weighed),
                 "strategy.sync_batch_norm and strategy.gradient_scale_configs[\"scale_strategy\"] "
                 "= \"samples\" cannot both be on");
}

}  // namespace
}  // namespace flotilla::passes
