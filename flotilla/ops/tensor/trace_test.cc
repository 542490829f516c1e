#include "flotilla/ir/text.h"
#include "flotilla/op/import_from_paddle.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(Trace, TakesTheAxesOfPrograms18) {
  const auto program = import_from_paddle(parse(R"(
    var x f32[2, 3, 4]
    var y f32[2]
    trace(Input=x) -> Out=y {dim1=-2, dim2=-1, offset=0}
  )"));
  const Op& op = program->global_block().op(0);
  EXPECT_EQ(print(op), "trace(Input=x) -> y {axis1=-2, axis2=-1, offset=0}");
}

}  // namespace
}  // namespace flotilla
