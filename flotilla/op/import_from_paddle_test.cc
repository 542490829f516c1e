#include "flotilla/op/import_from_paddle.h"

#include <gmock/gmock.h>

#include "flotilla/ir/text.h"
#include "flotilla/op/export_to_paddle.h"

namespace flotilla {
namespace {

// 1.x takes Adam's epsilon and LAMB's moments as they are, 2.x and what is built here do not.
TEST(ImportFromPaddle, UpdatesKeepTheFormulaOfTheirRelease) {
  const auto program = import_from_paddle(parse(R"(
    var p f32[2]
    adam(Param=p) -> ParamOut=p {epsilon=0.5}
    adam(Param=p) -> ParamOut=p {epsilon=0.5, multi_precision=false}
    lamb(Param=p) -> ParamOut=p
    lamb(Param=p) -> ParamOut=p {multi_precision=false}
  )"));
  const Block& block = program->global_block();
  EXPECT_TRUE(block.op(0).attr_or<bool>("plain_epsilon", false));
  EXPECT_FALSE(block.op(1).attrs().contains("plain_epsilon"));
  EXPECT_TRUE(block.op(2).attr_or<bool>("plain_moments", false));
  EXPECT_FALSE(block.op(3).attrs().contains("plain_moments"));
}

TEST(ImportFromPaddle, UndoesAnExport) {
  const auto built = parse(R"(
    var p f32[2]
    adam(Param=p) -> ParamOut=p {epsilon=0.5}
    adam(Param=p) -> ParamOut=p {epsilon=0.5, plain_epsilon=true}
  )");
  const auto file = export_to_paddle(*built);
  EXPECT_FALSE(
      file->global_block().op(1).attrs().contains("plain_epsilon"));  // real Paddle has no such
  const auto back = import_from_paddle(file);
  EXPECT_FALSE(back->global_block().op(0).attr_or<bool>("plain_epsilon", false));
  EXPECT_TRUE(back->global_block().op(1).attr_or<bool>("plain_epsilon", false));
}

}  // namespace
}  // namespace flotilla
