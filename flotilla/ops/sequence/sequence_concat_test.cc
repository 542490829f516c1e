#include "flotilla/testing/check_op.h"
#include "flotilla/testing/short_sequences.h"

namespace flotilla {
namespace {

TEST(SequenceConcat, JoinsSequences) {
  const Tensor other = with_lod(tensor({{-1, -2}, {-3, -4}, {-5, -6}}), {{0, 1, 3, 3}});
  const Tensor found = run_op("sequence_concat", {{"X", {rows(), other}}}).at("Out");
  EXPECT_THAT(
      found,
      equal_to(tensor({{1, 2}, {3, 4}, {-1, -2}, {5, 6}, {-3, -4}, {-5, -6}, {7, 8}, {9, 10}})));
  EXPECT_EQ(found.lod(), (LoD{{0, 3, 6, 8}}));
  check_op({.type = "sequence_concat", .inputs = {{"X", {random_rows(), other}}}});
  EXPECT_REFUSED(run_op("sequence_concat", {{"X", {rows(), random_rows({{0, 2, 4}})}}}),
                 "input 0 has 3 sequences, but input 1 has 2");
}

}  // namespace
}  // namespace flotilla
