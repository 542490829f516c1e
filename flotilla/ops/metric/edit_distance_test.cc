#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

Tensor distances(const Tensor& hyps, const Tensor& refs, bool normalized) {
  return run_op("edit_distance", {{"Hyps", hyps}, {"Refs", refs}}, {{"normalized", normalized}})
      .at("Out");
}

TEST(EditDistance, CountsChanges) {
  // kitten, sitting; nothing, two letters
  const Tensor hyps = with_lod(ints({1, 2, 3, 3, 4, 5}, Shape{6, 1}), {{0, 6, 6}});
  const Tensor refs = with_lod(ints({6, 2, 3, 3, 2, 5, 7, 1, 1}, Shape{9, 1}), {{0, 7, 9}});
  EXPECT_THAT(distances(hyps, refs, false), equal_to(tensor({3, 2}, Shape{2, 1})));
  EXPECT_THAT(distances(hyps, refs, true), near(tensor({3.0 / 7, 1}, Shape{2, 1}), 1e-6));
  EXPECT_REFUSED(distances(refs, hyps, true),
                 "sequence 1 of Refs is empty: a distance cannot be divided by its length");
}

TEST(EditDistance, TakesPaddedRows) {
  const OpResult found = run_op("edit_distance", {{"Hyps", ints({1, 2, 0, 3, 3, 3}, Shape{2, 3})},
                                                  {"Refs", ints({1, 3, 3, 9}, Shape{2, 2})},
                                                  {"HypsLength", ints({2, 3})},
                                                  {"RefsLength", ints({2, 1})}});
  EXPECT_THAT(found.at("Out"), equal_to(tensor({1, 2}, Shape{2, 1})));
  EXPECT_THAT(found.at("SequenceNum"), equal_to({2}));
}

}  // namespace
}  // namespace flotilla
