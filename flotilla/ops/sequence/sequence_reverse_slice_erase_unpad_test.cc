#include "flotilla/testing/check_op.h"
#include "flotilla/testing/short_sequences.h"

namespace flotilla {
namespace {

TEST(SequenceReverse, TurnsSequencesRound) {
  const Tensor found = run_op("sequence_reverse", {{"X", rows()}}).at("Y");
  EXPECT_THAT(found, equal_to(tensor({{3, 4}, {1, 2}, {5, 6}, {9, 10}, {7, 8}})));
  EXPECT_EQ(found.lod(), kLod);
  check_op({.type = "sequence_reverse", .inputs = {{"X", random_rows()}}});
}

TEST(SequenceSlice, CutsPieces) {
  const Inputs cut = {{"X", rows()},
                      {"Offset", ints({1, 0, 0}, Shape{3, 1})},
                      {"Length", ints({1, 1, 2}, Shape{3, 1})}};
  const Tensor found = run_op("sequence_slice", cut).at("Out");
  EXPECT_THAT(found, equal_to(tensor({{3, 4}, {5, 6}, {7, 8}, {9, 10}})));
  EXPECT_EQ(found.lod(), (LoD{{0, 1, 2, 4}}));
  check_op({.type = "sequence_slice", .inputs = cut, .integers = false});
  Inputs wrong = cut;
  wrong["Length"] = ints({2, 1, 2}, Shape{3, 1});
  EXPECT_REFUSED(run_op("sequence_slice", wrong),
                 "2 rows from row 1 on are wanted of sequence 0, which has 2");
}

TEST(SequenceErase, TakesNumbersOut) {
  const Tensor found =
      run_op("sequence_erase", {{"X", numbers()}}, {{"tokens", std::vector<int64_t>{2, 3}}})
          .at("Out");
  EXPECT_THAT(found, equal_to(ints({6, 1}, Shape{2, 1})));
  EXPECT_EQ(found.lod(), (LoD{{0, 0, 1, 2}}));
}

}  // namespace
}  // namespace flotilla
