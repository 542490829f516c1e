// flotilla/ops/nn/max_pool2d_with_index_unpool_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

using Ints = std::vector<int32_t>;

const Tensor kImage = tensor({1, 2, 9, 4, 5, 6, 7, 8, 3}, {1, 1, 3, 3});

TEST(MaxPool2dWithIndex, KnownValues) {
  const auto steps = run_op("max_pool2d_with_index", {{"X", kImage}}, {{"ksize", Ints{2, 2}}});
  EXPECT_THAT(steps.at("Out"), near({5, 9, 8, 8}, 0));
  EXPECT_THAT(steps.at("Mask"), near({4, 2, 7, 7}, 0));
  const auto chosen =
      run_op("max_pool2d_with_index", {{"X", kImage}}, {{"ksize", Ints{2, 1}}, {"adaptive", true}});
  EXPECT_THAT(chosen.at("Out"), near({9, 8}, 0));
  EXPECT_THAT(chosen.at("Mask"), near({2, 7}, 0));
  const auto whole = run_op("max_pool2d_with_index", {{"X", kImage}}, {{"global_pooling", true}});
  EXPECT_THAT(whole.at("Out"), near({9}, 0));
}

TEST(MaxPool2dWithIndex, Gradients) {
  for (const Attrs& attrs :
       {Attrs{{"ksize", Ints{2, 3}}, {"adaptive", true}},
        Attrs{{"ksize", Ints{2, 3}}, {"strides", Ints{2, 1}}, {"paddings", Ints{1, 1}}}}) {
    check_op({.type = "max_pool2d_with_index",
              .inputs = {{"X", uniform({2, 3, 5, 4}, -2, 2)}},
              .attrs = attrs,
              .grad_outputs = {"Out"}});
  }
}

TEST(Unpool, IsTheWayBack) {
  const Attrs attrs = {{"ksize", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  const Tensor x = uniform({2, 3, 4, 6}, 1, 2);
  const auto pooled = run_op("max_pool2d_with_index", {{"X", x}}, attrs);
  const Inputs inputs = {{"X", pooled.at("Out")}, {"Indices", pooled.at("Mask")}};
  const Tensor wide = run_op("unpool", inputs, attrs).at("Out");
  EXPECT_EQ(wide.shape(), x.shape());
  EXPECT_THAT(run_op("max_pool2d_with_index", {{"X", wide}}, attrs).at("Mask"),
              equal_to(pooled.at("Mask")));
  check_op({.type = "unpool", .inputs = inputs, .attrs = attrs});
}

TEST(Unpool, KnownValuesAndRefusals) {
  const Inputs inputs = {{"X", tensor({5, 7}, {1, 1, 1, 2})},
                         {"Indices", ints({1, 3}, Shape{1, 1, 1, 2}, i32)}};
  const Attrs attrs = {{"ksize", Ints{1, 2}}, {"strides", Ints{1, 2}}};
  EXPECT_THAT(run_op("unpool", inputs, attrs).at("Out"),
              equal_to(tensor({0, 5, 0, 7}, Shape{1, 1, 1, 4})));
  EXPECT_THAT(run_op("unpool", inputs, {{"output_size", Ints{2, 2}}}).at("Out"),
              equal_to(tensor({0, 5, 0, 7}, Shape{1, 1, 2, 2})));
  EXPECT_REFUSED(run_op("unpool", inputs), "Indices holds 3, but a channel has 2 elements");
  EXPECT_REFUSED(build_op("unpool", inputs, {{"paddings", Ints{1, 0}}}),
                 "Out must have rows and columns, but would have -1");
  EXPECT_REFUSED(build_op("unpool", {{"X", kImage}, {"Indices", inputs.at("Indices")}}),
                 "Indices must have the shape [1, 1, 3, 3] of X, but has [1, 1, 1, 2]");
}

TEST(MaxPool2dWithIndex, Refusals) {
  EXPECT_REFUSED(build_op("max_pool2d_with_index", {{"X", kImage}}, {{"ksize", Ints{4, 4}}}),
                 "windows of 4 do not fit into 3 elements with 0 around them");
  EXPECT_REFUSED(run_op("max_pool2d_with_index_grad",
                        {{"X", kImage},
                         {"Mask", ints({9}, Shape{1, 1, 1, 1}, i32)},
                         {"Out@GRAD", full({1, 1, 1, 1}, 1)}},
                        {{"ksize", Ints{3, 3}}}),
                 "Mask holds 9, but a channel has 9 elements");
}

}  // namespace
}  // namespace flotilla
