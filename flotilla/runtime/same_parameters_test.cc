#include "flotilla/runtime/same_parameters.h"

#include <gmock/gmock.h>

#include "flotilla/runtime/executor.h"
#include "flotilla/testing/programs.h"
#include "flotilla/testing/ranks.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kProgram[] = R"(
  var lr f32[1] persistable
  var b f32[3] persistable
  var w f32[3] persistable
  var own f32[3] persistable
  var w@GRAD f32[3] data
  var b@GRAD f32[3] data
  var own@GRAD f32[3] data
  fused_all_reduce(X=[w@GRAD, b@GRAD]) -> [w@GRAD, b@GRAD]
  sgd(Param=w, Grad=w@GRAD, LearningRate=lr) -> ParamOut=w
  sgd(Param=b, Grad=b@GRAD, LearningRate=lr) -> ParamOut=b
  sgd(Param=own, Grad=own@GRAD, LearningRate=lr) -> ParamOut=own
)";

// Trains for a step; what rank 2 holds at the start is `w` and `own`.
void train(comm::World& world, double w, double own) {
  const auto program = build(kProgram);
  Scope scope;
  for (const char* name : {"lr", "b"}) scope.var(name) = full({name[0] == 'b' ? 3 : 1}, 0.5);
  scope.var("w") = full({3}, world.rank() == 2 ? w : 1);
  scope.var("own") = full({3}, world.rank() == 2 ? own : 1);
  Executor executor({.world = &world});
  const Tensor grad = full({3}, world.rank());
  executor.run(*program, {{"w@GRAD", grad}, {"b@GRAD", grad}, {"own@GRAD", grad}}, {}, scope);
  compare_parameters(world, exchanged_parameters(*program), scope);
}

TEST(SameParameters, AreThoseWhoseGradientsAreExchanged) {
  EXPECT_THAT(exchanged_parameters(*build(kProgram)), ElementsAre("b", "w"));
  EXPECT_THAT(exchanged_parameters(*build("fill_constant() -> x {shape=[2], value=1.0}")),
              IsEmpty());
}

TEST(SameParameters, AreNotRefused) {
  testing::run_ranks(3, [](comm::World& world) { train(world, 1, 7); });
}

TEST(SameParameters, ADifferenceAtTheStartIsNamed) {
  EXPECT_EQ(
      refusal_of([] { testing::run_ranks(3, [](comm::World& world) { train(world, 2, 1); }); }),
      "parameter \"w\" has different values on rank 2 than on rank 0: all ranks must start from "
      "the same values, and only the program may change them");
}

TEST(SameParameters, ThatAreNotThereOnOneRankDiffer) {
  EXPECT_EQ(refusal_of([] {
              testing::run_ranks(3, [](comm::World& world) {
                Scope scope;
                if (world.rank() == 0) scope.var("v") = full({2}, 1);
                compare_parameters(world, {"u", "v"}, scope);
              });
            }),
            "parameter \"v\" has different values on ranks 1, 2 than on rank 0: all ranks must "
            "start from the same values, and only the program may change them");
}

}  // namespace
}  // namespace flotilla
