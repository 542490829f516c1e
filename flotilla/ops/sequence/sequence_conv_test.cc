#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const LoD kLod = {{0, 2, 2, 5}};

TEST(SequenceConv, SeesNeighboursOfTheSameSequence) {
  // Three rows of two numbers together: the one before, the row itself, the one behind it.
  const Tensor x = with_lod(tensor({{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}}), kLod);
  const Tensor filter = tensor({{1, 0}, {0, 0}, {10, 0}, {0, 1}, {100, 0}, {0, 0}});
  const Attrs attrs = {{"contextLength", 3}, {"contextStart", -1}};
  const Tensor out = run_op("sequence_conv", {{"X", x}, {"Filter", filter}}, attrs).at("Out");
  EXPECT_THAT(out, equal_to(tensor({{310, 2}, {31, 4}, {750, 6}, {975, 8}, {97, 10}})));
  const Tensor g = tensor({{1, 0}, {0, 1}, {1, 1}, {0, 0}, {2, 0}});
  const auto grads = run_op("sequence_conv_grad", {{"X", x}, {"Filter", filter}, {"Out@GRAD", g}},
                            attrs, {.outputs = {{"X@GRAD", 1}, {"Filter@GRAD", 1}}});
  EXPECT_THAT(grads.at("X@GRAD"),
              equal_to(tensor({{10, 0}, {100, 1}, {10, 1}, {102, 0}, {20, 0}})));
  EXPECT_THAT(grads.at("Filter@GRAD"),
              equal_to(tensor({{14, 1}, {16, 2}, {24, 8}, {28, 10}, {10, 7}, {12, 8}})));
  EXPECT_REFUSED(run_op("sequence_conv", {{"X", x}, {"Filter", filter}}, {{"contextLength", 2}}),
                 "Filter must have contextLength * 2 = 4 rows, but has shape [6, 2]");
  EXPECT_REFUSED(
      run_op("sequence_conv", {{"X", uniform({5, 2}, -1, 1)}, {"Filter", filter}}, attrs),
      "sequence_conv takes sequences, but X of shape [5, 2] has no LoD");
}

}  // namespace
}  // namespace flotilla
