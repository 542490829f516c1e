#include "flotilla/data/join.h"

#include "flotilla/testing/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flotilla::data {
namespace {

using testing::ElementsAre;

Tensor rows(std::vector<int64_t> values, LoD lod = {}) {
  const auto count = static_cast<int64_t>(values.size());
  Tensor made = Tensor::of<int64_t>(values, Shape{count, 1});
  made.set_lod(std::move(lod));
  return made;
}

TEST(JoinRows, PutsRowsAndSequencesOneBehindTheOther) {
  const Tensor parts[] = {rows({1, 2, 3}, {{0, 1, 3}}), rows({4, 5}, {{0, 2}})};
  const Tensor joined = join_rows(parts);
  EXPECT_EQ(joined.shape(), (Shape{5, 1}));
  const auto span = joined.span<int64_t>();
  EXPECT_THAT(std::vector<int64_t>(span.begin(), span.end()), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(joined.lod(), ElementsAre(ElementsAre(0, 1, 3, 5)));
}

TEST(JoinRows, RefusesPartsThatDiffer) {
  const Tensor parts[] = {rows({1}), Tensor(f32, Shape{1, 1})};
  EXPECT_REFUSED(join_rows(parts),
                 "the batches of all places must be alike but for their number of rows, but one "
                 "holds i64[1, 1] and another f32[1, 1]");
}

}  // namespace
}  // namespace flotilla::data
