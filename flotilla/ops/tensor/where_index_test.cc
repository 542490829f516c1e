#include <gmock/gmock.h>

#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(WhereIndex, GivesARowForEachElementThatIsNotZero) {
  const Tensor found =
      run_op("where_index", {{"Condition", tensor({{0, 2, 0}, {3, 0, 4}})}}).at("Out");
  EXPECT_EQ(found.shape(), Shape({3, 2}));
  EXPECT_THAT(found, equal_to({0, 1, 1, 0, 1, 2}));
}

TEST(WhereIndex, NothingFoundIsAnEmptyTensor) {
  EXPECT_EQ(run_op("where_index", {{"Condition", bools({false, false})}}).at("Out").shape(),
            Shape({0, 1}));
}

}  // namespace
}  // namespace flotilla
