#include "flotilla/testing/check_op.h"
#include "flotilla/testing/short_sequences.h"

namespace flotilla {
namespace {

TEST(SequenceExpand, RepeatsRowsAndSequences) {
  const Tensor x = tensor({{1, 2}, {3, 4}, {5, 6}});
  EXPECT_THAT(run_op("sequence_expand", {{"X", x}, {"Y", rows()}}).at("Out"),
              equal_to(tensor({{1, 2}, {1, 2}, {3, 4}, {5, 6}, {5, 6}})));
  const Tensor pairs = with_lod(tensor({1, 2, 3}, Shape{3, 1}), {{0, 1, 3}});
  const Tensor twice = with_lod(full({3, 1}, 0), {{0, 1, 3}});
  const Tensor found = run_op("sequence_expand", {{"X", pairs}, {"Y", twice}}).at("Out");
  EXPECT_THAT(found, equal_to(tensor({1, 2, 3, 2, 3}, Shape{5, 1})));
  EXPECT_EQ(found.lod(), (LoD{{0, 1, 3, 5}}));
  check_op({.type = "sequence_expand", .inputs = {{"X", x}, {"Y", rows()}}, .integers = false});
  check_op({.type = "sequence_expand",
            .inputs = {{"X", random_rows({{0, 1, 1, 4}})}, {"Y", rows()}},
            .integers = false});
}

TEST(SequenceExpand, TakesALevelOfTwo) {
  const Tensor y = with_lod(full({6, 1}, 0), {{0, 2, 3}, {0, 2, 3, 6}});
  const Tensor x = tensor({1, 2}, Shape{2, 1});
  EXPECT_THAT(run_op("sequence_expand", {{"X", x}, {"Y", y}}, {{"ref_level", 0}}).at("Out"),
              equal_to(tensor({1, 1, 2}, Shape{3, 1})));
  EXPECT_REFUSED(run_op("sequence_expand", {{"X", x}, {"Y", y}}, {{"ref_level", 2}}),
                 "ref_level must lie in [-1, 2), but is 2");
  EXPECT_REFUSED(run_op("sequence_expand", {{"X", x}, {"Y", y}}),
                 "X has 2 rows, but Y has 3 sequences");
}

TEST(SequenceExpandAs, RepeatsRows) {
  const Tensor x = uniform({3, 2}, -1, 1);
  const OpResult found = run_op("sequence_expand_as", {{"X", x}, {"Y", rows()}});
  EXPECT_EQ(found.at("Out").lod(), kLod);
  check_op({.type = "sequence_expand_as", .inputs = {{"X", x}, {"Y", rows()}}, .integers = false});
  EXPECT_REFUSED(run_op("sequence_expand_as", {{"X", uniform({2, 2}, -1, 1)}, {"Y", rows()}}),
                 "X of shape [2, 2] must have a row for each of the 3 sequences of Y");
}

}  // namespace
}  // namespace flotilla
