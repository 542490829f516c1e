// flotilla/ops/nn/max_pool2d_with_index_test.cc

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
