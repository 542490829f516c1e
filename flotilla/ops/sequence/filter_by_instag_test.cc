#include "flotilla/testing/check_op.h"
#include "flotilla/testing/short_sequences.h"

namespace flotilla {
namespace {

TEST(FilterByInstag, KeepsInstancesWithATag) {
  const Tensor tags = with_lod(ints({1, 2, 3, 1}, Shape{4, 1}), {{0, 1, 3, 4}});
  const Inputs inputs = {{"Ins", rows()}, {"Ins_tag", tags}, {"Filter_tag", ints({1})}};
  const OpResult found = run_op("filter_by_instag", inputs);
  EXPECT_THAT(found.at("Out"), equal_to(tensor({{1, 2}, {3, 4}, {7, 8}, {9, 10}})));
  EXPECT_EQ(found.at("Out").lod(), (LoD{{0, 2, 4}}));
  EXPECT_THAT(found.at("LossWeight"), all_equal_to(1));
  EXPECT_THAT(found.at("IndexMap"), equal_to(ints({0, 0, 2, 2, 3, 2}, Shape{2, 3})));
  check_op({.type = "filter_by_instag", .inputs = inputs, .integers = false});
  Inputs other = inputs;
  other["Filter_tag"] = ints({9});
  const OpResult none = run_op("filter_by_instag", other, {{"out_val_if_empty", 5}});
  EXPECT_THAT(none.at("Out"), equal_to(tensor({{5, 5}})));
  EXPECT_THAT(none.at("LossWeight"), equal_to({0}));
  EXPECT_REFUSED(run_op("filter_by_instag", inputs, {{"is_lod", false}}),
                 "Ins has 5 instances, but Ins_tag has 3 sequences");
}

// Paddle 1.8 keeps the first numbers of as many as the second axis has.
TEST(FilterByInstag, KeepsRowsOfSeveralAxesWhole) {
  const Tensor tags = with_lod(ints({1, 2, 1}, Shape{3, 1}), {{0, 1, 2, 3}});
  const Inputs inputs = {{"Ins", tensor({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, Shape{3, 2, 2})},
                         {"Ins_tag", tags},
                         {"Filter_tag", ints({1})}};
  const Attrs by_row = {{"is_lod", false}};
  EXPECT_THAT(run_op("filter_by_instag", inputs, by_row).at("Out"),
              equal_to(tensor({1, 2, 3, 4, 9, 10, 11, 12}, Shape{2, 2, 2})));
  check_op({.type = "filter_by_instag", .inputs = inputs, .attrs = by_row, .integers = false});
  Inputs other = inputs;
  other["Filter_tag"] = ints({9});
  EXPECT_THAT(run_op("filter_by_instag", other, by_row).at("Out"),
              equal_to(tensor({0, 0, 0, 0}, Shape{1, 2, 2})));
}

}  // namespace
}  // namespace flotilla
