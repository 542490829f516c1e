#include "flotilla/ir/structure.h"

#include <gmock/gmock.h>

#include "flotilla/ir/text.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Structure, NamesInsideAreThoseOfAllBlocksThatAnOpRuns) {
  const auto program = parse(R"(
    var c bool[1]
    var x f32[1]
    relu(X=x) -> y
    while(Condition=c) {sub_block=block 1}
    block 1 in 0 {
      relu(X=x) -> a
      conditional_block(Cond=c) {sub_block=block 2}
    }
    block 2 in 1 {
      relu(X=a) -> b
    }
  )");
  const Block& global = program->global_block();
  EXPECT_EQ(&sub_block(global.op(1)), &program->block(1));
  const NamesInside inside = names_inside(global.op(1));
  EXPECT_THAT(inside.read, ElementsAre("a", "c", "x"));
  EXPECT_THAT(inside.written, ElementsAre("a", "b"));
  EXPECT_THAT(names_inside(global.op(0)).read, IsEmpty());
  EXPECT_THAT(names_inside(program->block(2)).read, ElementsAre("a"));
}

}  // namespace
}  // namespace flotilla
