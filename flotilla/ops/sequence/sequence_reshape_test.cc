#include "flotilla/testing/check_op.h"
#include "flotilla/testing/short_sequences.h"

namespace flotilla {
namespace {

TEST(SequenceReshape, KeepsSequencesTogether) {
  const Tensor x = with_lod(uniform({4, 6}, -1, 1), {{0, 1, 4}});
  const Tensor found = run_op("sequence_reshape", {{"X", x}}, {{"new_dim", 3}}).at("Out");
  EXPECT_THAT(found, has_shape({8, 3}));
  EXPECT_EQ(found.lod(), (LoD{{0, 2, 8}}));
  check_op({.type = "sequence_reshape", .inputs = {{"X", x}}, .attrs = {{"new_dim", 3}}});
  EXPECT_REFUSED(run_op("sequence_reshape", {{"X", x}}, {{"new_dim", 4}}),
                 "sequence 0 of 6 elements cannot be cut into rows of new_dim 4");
}

}  // namespace
}  // namespace flotilla
