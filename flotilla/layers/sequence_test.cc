#include "flotilla/layers/sequence.h"

#include <gtest/gtest.h>

#include "flotilla/layers/nn.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

using Sequence = LayersTest;

TEST_F(Sequence, ConvolutionsSeeNeighboursWithinASequence) {
  const Variable x = data("x", {-1, 1}, f32, {.lod_level = 1});
  const Variable y =
      sequence_conv(x, 1, {.weight = {.initializer = values({1, 10, 100})}, .bias = kNoBias});
  const Tensor rows = with_lod(tensor({1, 2, 3}, Shape{3, 1}), {{0, 2, 3}});
  EXPECT_THAT(run({{"x", rows}}, {y.name()})[0], near({210, 21, 30}, 1e-4));
  sequence_conv(x, 4, {.filter_size = 2, .padding_start = 0, .act = "relu", .name = "n"});
  EXPECT_EQ(main_->global_block().var("n.w_0").shape, (Shape{2, 4}));
  EXPECT_EQ(main_->global_block().var("n.b_0").shape, (Shape{4}));
  EXPECT_EQ(main_->global_block().op(1).attr<int32_t>("contextStart"), 0);
  EXPECT_EQ(main_->global_block().ops().back()->output("Out"), "n.tmp_2");
  EXPECT_REFUSED(sequence_conv(data("flat", {-1}), 4),
                 "sequence_conv slides over [rows, width], but \"flat\" is [-1]");
}

TEST_F(Sequence, RowsLookAhead) {
  const Variable x = data("x", {-1, 3}, f32, {.lod_level = 1});
  EXPECT_EQ(row_conv(x, 2, {.act = "relu"}).name(), "row_conv_0_0.tmp_1");
  EXPECT_EQ(main_->global_block().var("row_conv_0.w_0").shape, (Shape{3, 3}));
}

TEST_F(Sequence, RowsOfATableAreSummedUp) {
  const Variable ids = data("ids", {-1, 1}, i64, {.lod_level = 1});
  const ParamAttr table = {.name = "table", .initializer = values({1, 2, 4, 8})};
  const std::vector<std::string> names = {
      fused_embedding_seq_pool(ids, 4, 1, {.weight = table}).name(),
      fused_embedding_seq_pool(ids, 4, 1, {.is_sparse = true, .weight = table}).name(),
      fused_embedding_seq_pool(ids, 4, 1, {.padding_idx = -2, .weight = table}).name()};
  const Tensor fed = with_lod(ints({0, 1, 2}, Shape{3, 1}), {{0, 2, 3}});
  const std::vector<Tensor> sums = run({{"ids", fed}}, names);
  EXPECT_THAT(sums[0], near({3, 4}, 0));
  EXPECT_THAT(sums[1], near({3, 4}, 0));
  EXPECT_THAT(sums[2], near({3, 0}, 0));
}

TEST_F(Sequence, BecomeRowsOfOneLength) {
  const Variable x = data("x", {-1, 1}, f32, {.lod_level = 1}), pad = data("pad", {1});
  const Variable sums = sequence_pool(x, "sum");
  const auto [padded, lengths] = sequence_pad(x, pad, 3);
  EXPECT_TRUE(lengths->stop_gradient);
  const Tensor rows = with_lod(tensor({1, 2, 3}, Shape{3, 1}), {{0, 2, 3}});
  const std::vector<Tensor> found =
      run({{"x", rows}, {"pad", tensor({9})}}, {sums.name(), padded.name(), lengths.name()});
  EXPECT_THAT(found[0], near({3, 3}, 0));
  EXPECT_THAT(found[1], near({1, 2, 9, 3, 9, 9}, 0));
  EXPECT_THAT(found[2], near({2, 1}, 0));
  EXPECT_REFUSED(lod_reset(x, {}), "lod_reset needs y or target_lod");
}

TEST_F(Sequence, DistancesLeaveOutWhatIsIgnored) {
  const Variable x = data("x", {-1, 1}, i64, {.lod_level = 1});
  const Variable label = data("label", {-1, 1}, i64, {.lod_level = 1});
  const auto [distance, count] = edit_distance(x, label, false, {0});
  const std::vector<Tensor> found =
      run({{"x", with_lod(ints({0, 2, 3}, Shape{3, 1}), {{0, 3}})},
           {"label", with_lod(ints({2, 0, 0, 4}, Shape{4, 1}), {{0, 4}})}},
          {distance.name(), count.name()});
  EXPECT_THAT(found[0], near({1}, 0));
  EXPECT_THAT(found[1], near({1}, 0));
}

TEST_F(Sequence, ChainsOfTags) {
  const Variable x = data("x", {-1, 3}, f32, {.lod_level = 1});
  const Variable tags = data("tags", {-1, 1}, i64, {.lod_level = 1});
  const Variable cost = linear_chain_crf(x, tags, {.transition = {.name = "scores"}});
  EXPECT_EQ(cost.name(), "linear_chain_crf_0_0.tmp_0");
  EXPECT_EQ(main_->global_block().var("scores").shape, (Shape{5, 3}));
  const Variable best = crf_decoding(x, "scores");
  EXPECT_TRUE(best->stop_gradient);
  EXPECT_EQ(best.dtype(), i64);
  EXPECT_EQ(crf_decoding(x, "scores", {.label = tags})->block->ops().back()->input("Label"),
            "tags");
  EXPECT_REFUSED(crf_decoding(x, ""),
                 "crf_decoding needs the name of what linear_chain_crf learnt");
}

}  // namespace
}  // namespace flotilla::layers
