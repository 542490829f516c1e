#include "flotilla/runtime/schedule.h"

#include <gmock/gmock.h>

#include "flotilla/testing/programs.h"
#include "flotilla/testing/ranks.h"

namespace flotilla {
namespace {

TEST(Schedule, HasALineForEachVariableThatTravels) {
  const auto program = build(R"(
    var x f32[-1, 3] data
    var scale f32[3] data
    c_comm_init() {ring_id=2, nranks=2}
    relu(X=x) -> y
    fused_all_reduce(X=[x, y]) -> [a, b] {ring_id=2}
    sync_batch_norm(X=x, Scale=scale, Bias=scale, Mean=scale, Variance=scale) -> Y=z
    barrier()
  )");
  EXPECT_THAT(
      collective_schedule(*program),
      ::testing::ElementsAre("c_comm_init in ring 2", "fused_all_reduce in ring 2 of x f32[-1, 3]",
                             "fused_all_reduce in ring 2 of y f32[-1, 3]",
                             "sync_batch_norm in ring 0 of x", "barrier in ring 0"));
}

TEST(Schedule, ProgramsWithoutCollectiveOpsHaveNone) {
  EXPECT_THAT(collective_schedule(*build("fill_constant() -> x {shape=[2], value=1.0}")),
              ::testing::IsEmpty());
}

TEST(Schedule, OpsOfOneRankAreNotCompared) {
  const auto program = build(R"(
    var x f32[2] data
    c_gen_nccl_id() -> id {rank=1}
    send_v2(X=x) {peer=1}
    relu(X=x) -> y
  )");
  EXPECT_THAT(ops_to_compare(*program), ::testing::ElementsAre("relu(X=x) -> y"));
}

TEST(Schedule, LayoutsThatDifferAreExchangedInPlainOrder) {
  const Layout blocked({0, 1}, {{.axis = 0, .size = 16}});
  testing::run_ranks(3, [&](comm::World& world) {
    const ExchangeLayouts same = {{"v", {}}, {"w", blocked}};
    EXPECT_EQ(agree_on_layouts(world, same), same);
    const ExchangeLayouts mine = {{"v", {}}, {"w", world.rank() == 1 ? Layout{} : blocked}};
    const ExchangeLayouts plain = {{"v", {}}, {"w", {}}};
    EXPECT_EQ(agree_on_layouts(world, mine), plain);
  });
}

}  // namespace
}  // namespace flotilla
