#include "flotilla/layers/losses.h"

#include <gtest/gtest.h>

#include "flotilla/layers/nn.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

using Losses = LayersTest;

TEST_F(Losses, ReductionsOfALoss) {
  const Variable x = data("x", {-1, 3}), y = data("y", {-1, 3});
  mse_loss(x, y);
  EXPECT_EQ(ops(), text(R"(
    elementwise_sub(X=x, Y=y) -> elementwise_sub_0.tmp_0 {axis=-1}
    square(X=elementwise_sub_0.tmp_0) -> square_0.tmp_0
    reduce_mean(X=square_0.tmp_0) -> mean_0.tmp_0 {dim=ints[], keep_dim=false, reduce_all=true}
  )"));
  EXPECT_EQ(mse_loss(x, y, "none").shape(), (Shape{-1, 3}));
  EXPECT_EQ(mse_loss(x, y, "sum").shape(), Shape{1});
  EXPECT_REFUSED(mse_loss(x, y, "max"),
                 "reduction must be \"mean\", \"sum\" or \"none\", but is 'max'");
}

TEST_F(Losses, WeightsOfClassesAreLookedUp) {
  const Variable logits = data("logits", {-1, 4}), label = data("label", {-1, 1}, i64);
  const Variable weight = data("weight", {4});
  cross_entropy_loss(logits, label, {.weight = weight, .reduction = "none"});
  EXPECT_EQ(ops(), text(R"(
    softmax_with_cross_entropy(Label=label, Logits=logits) -> Loss=softmax_with_cross_entropy_0.tmp_1, Softmax=softmax_with_cross_entropy_0.tmp_0 {axis=-1, ignore_index=-100, numeric_stable_mode=true, soft_label=false, use_softmax=true}
    fill_constant() -> tmp_0 {dtype=3, shape=[1L], value=-100.0}
    not_equal(X=label, Y=tmp_0) -> tmp_1 {axis=-1}
    cast(X=tmp_1) -> cast_0.tmp_0 {in_dtype=0, out_dtype=3}
    elementwise_mul(X=cast_0.tmp_0, Y=label) -> elementwise_mul_0.tmp_0 {axis=-1}
    reshape2(X=weight) -> Out=reshape2_0.tmp_0, XShape=reshape2_0.tmp_1 {shape=[-1, 1]}
    lookup_table_v2(Ids=elementwise_mul_0.tmp_0, W=reshape2_0.tmp_0) -> embedding_0.tmp_0 {is_distributed=false, is_sparse=false, is_test=false, padding_idx=-1L}
    squeeze2(X=embedding_0.tmp_0) -> Out=squeeze_0.tmp_0, XShape=squeeze_0.tmp_1 {axes=[-1]}
    cast(X=tmp_1) -> cast_1.tmp_0 {in_dtype=0, out_dtype=5}
    elementwise_mul(X=squeeze_0.tmp_0, Y=cast_1.tmp_0) -> elementwise_mul_1.tmp_0 {axis=-1}
    elementwise_mul(X=softmax_with_cross_entropy_0.tmp_1, Y=elementwise_mul_1.tmp_0) -> elementwise_mul_2.tmp_0 {axis=-1}
  )"));
}

TEST_F(Losses, AClassAxisMayBeMissing) {
  const Variable logits = data("logits", {-1, 4}), label = data("label", {-1}, i64);
  EXPECT_EQ(cross_entropy_loss(logits, label, {.reduction = "none"}).shape(), Shape{-1});
  EXPECT_EQ(cross_entropy_loss(logits, label, {.label_smoothing = 0.1f}).shape(), Shape{1});
}

TEST_F(Losses, SmoothDifferencesOfRows) {
  const Variable x = data("x", {2, 2}), y = data("y", {2, 2}), weight = data("weight", {2, 2});
  const Variable loss = smooth_l1(x, y), weighted = smooth_l1(x, y, weight, weight, 2);
  const std::vector<Tensor> found = run({{"x", tensor({{0, 0}, {1, 3}})},
                                         {"y", tensor({{0, 1}, {1, 1}})},
                                         {"weight", tensor({{1, 1}, {1, 2}})}},
                                        {loss.name(), weighted.name()});
  EXPECT_THAT(found[0], near(tensor({0.5, 1.5}, Shape{2, 1}), 1e-6));
  EXPECT_THAT(found[1], near(tensor({0.875, 7.75}, Shape{2, 1}), 1e-5));
}

TEST_F(Losses, DistancesOfTriples) {
  const Variable x = data("x", {-1, 4}), near = data("near", {-1, 4}), far = data("far", {-1, 4});
  EXPECT_EQ(pairwise_distance(x, near).shape(), Shape{-1});
  EXPECT_EQ(pairwise_distance(x, near, 2, 1e-6, true).shape(), (Shape{-1, 1}));
  EXPECT_EQ(triplet_margin_loss(x, near, far, 1, 2, 1e-6, true, "none").shape(), Shape{-1});
}

}  // namespace
}  // namespace flotilla::layers
