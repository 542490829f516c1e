#include "flotilla/testing/check_op.h"
#include "flotilla/testing/short_sequences.h"

namespace flotilla {
namespace {

TEST(SequenceScatter, AddsToColumns) {
  const Inputs inputs = {{"X", full({3, 3}, 1)},
                         {"Ids", with_lod(ints({0, 2, 1, 1, 1}, Shape{5, 1}), kLod)},
                         {"Updates", with_lod(tensor({1, 2, 3, 4, 5}, Shape{5, 1}), kLod)}};
  EXPECT_THAT(run_op("sequence_scatter", inputs).at("Out"),
              equal_to(tensor({{2, 1, 3}, {1, 4, 1}, {1, 10, 1}})));
  check_op({.type = "sequence_scatter", .inputs = inputs});
  Inputs wrong = inputs;
  wrong["Ids"] = with_lod(ints({0, 2, 3, 1, 1}, Shape{5, 1}), kLod);
  EXPECT_REFUSED(run_op("sequence_scatter", wrong),
                 "id 3 of sequence 1 is no column of X: it has 3");
}

// As Paddle 1.8 counts them.
TEST(SequenceScatter, CountsTheColumnsOfAllAxes) {
  const LoD lod = {{0, 2, 3}};
  const Inputs inputs = {{"X", full({2, 2, 3}, 1)},
                         {"Ids", with_lod(ints({5, 3, 4}, Shape{3, 1}), lod)},
                         {"Updates", with_lod(tensor({1, 2, 3}, Shape{3, 1}), lod)}};
  EXPECT_THAT(run_op("sequence_scatter", inputs).at("Out"),
              equal_to(tensor({1, 1, 1, 3, 1, 2, 1, 1, 1, 1, 4, 1}, Shape{2, 2, 3})));
  check_op({.type = "sequence_scatter", .inputs = inputs});
  Inputs one = inputs;
  one["X"] = full({2}, 1);
  one["Ids"] = with_lod(ints({0, 0, 0}, Shape{3, 1}), lod);
  EXPECT_THAT(run_op("sequence_scatter", one).at("Out"), equal_to(tensor({4, 4})));
}

}  // namespace
}  // namespace flotilla
