#include "flotilla/op/spell_out.h"

#include <gmock/gmock.h>

#include "flotilla/ir/text.h"
#include "flotilla/op/op_def.h"

namespace flotilla {
namespace {

TEST(SpellOut, GradientOpsGetEveryAttribute) {
  const auto program = parse(R"(
    var x f32[2]
    var y f32[2]
    softmax(X=x) -> Out=y
    softmax_grad(Out=y, Out@GRAD=y) -> X@GRAD=x
  )");
  const auto copy = spell_out_attrs(*program);
  EXPECT_FALSE(copy->global_block().op(0).has_attr("axis"));
  EXPECT_EQ(copy->global_block().op(1).attr<int64_t>("axis"), -1);
  EXPECT_FALSE(copy->global_block().op(1).attr<bool>("use_mkldnn"));
  EXPECT_FALSE(program->global_block().op(1).has_attr("axis"));
}

}  // namespace
}  // namespace flotilla
