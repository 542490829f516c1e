// flotilla/ops/nn/pool2d_test.cc

#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

using Ints = std::vector<int32_t>;

const Tensor kImage = tensor({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 1, 3, 3});

Tensor pool(const std::string& type, Attrs attrs) {
  attrs["pooling_type"] = type;
  return run_op("pool2d", {{"X", kImage}}, attrs).at("Out");
}

TEST(Pool2d, KnownValues) {
  EXPECT_THAT(pool("max", {{"ksize", Ints{2, 2}}}), near(tensor({5, 6, 8, 9}, {1, 1, 2, 2}), 0));
  EXPECT_THAT(pool("avg", {{"ksize", Ints{2, 2}}}), near({3, 4, 6, 7}, 1e-6));
  const Attrs padded = {{"ksize", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"paddings", Ints{1, 1}}};
  EXPECT_THAT(pool("avg", padded), near({1, 2.5, 5.5, 7}, 1e-6));
  Attrs inclusive = padded;
  inclusive["exclusive"] = false;
  EXPECT_THAT(pool("avg", inclusive), near({0.25, 1.25, 2.75, 7}, 1e-6));
  EXPECT_THAT(pool("avg", {{"ksize", Ints{1, 1}}, {"global_pooling", true}}), near({5}, 1e-6));
  EXPECT_THAT(pool("max", {{"ksize", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"ceil_mode", true}}),
              near({5, 6, 8, 9}, 0));
  EXPECT_THAT(pool("avg", {{"ksize", Ints{2, 1}}, {"adaptive", true}}), near({3.5, 6.5}, 1e-6));
}

// A mean that counts padding counts what lies inside the padded image, not what a window that
// ceil_mode adds reaches beyond.
TEST(Pool2d, WindowsBeyondThePaddedImage) {
  Attrs attrs = {{"pooling_type", "avg"},  {"ksize", Ints{2, 2}}, {"strides", Ints{2, 2}},
                 {"paddings", Ints{0, 0}}, {"ceil_mode", true},   {"exclusive", false}};
  EXPECT_THAT(run_op("pool2d", {{"X", kImage}}, attrs).at("Out"), near({3, 4.5, 7.5, 9}, 1e-6));
  const auto grad = run_op("pool2d_grad",
                           {{"X", kImage},
                            {"Out", full({1, 1, 2, 2}, 0)},
                            {"Out@GRAD", tensor({4, 2, 2, 1}, {1, 1, 2, 2})}},
                           attrs);
  EXPECT_THAT(grad.at("X@GRAD"), near({1, 1, 1, 1, 1, 1, 1, 1, 1}, 1e-6));
  attrs["paddings"] = Ints{1, 1};  // the second window begins at 2, and the padding ends at 4
  attrs["ksize"] = Ints{3, 3};
  attrs["strides"] = Ints{3, 3};
  EXPECT_THAT(run_op("pool2d", {{"X", full({1, 1, 3, 3}, 9)}}, attrs).at("Out"),
              near({4, 3, 3, 2.25}, 1e-6));
}

// The division of extents rounds to zero, so that a window may be larger by less than a stride.
TEST(Pool2d, WindowsLargerThanTheImage) {
  const auto large = [](int size, int stride) {
    return run_op("pool2d", {{"X", kImage}},
                  {{"pooling_type", "avg"},
                   {"ksize", Ints{size, size}},
                   {"strides", Ints{stride, stride}}})
        .at("Out");
  };
  EXPECT_THAT(large(4, 2), near(tensor({5}, Shape{1, 1, 1, 1}), 1e-6));
  EXPECT_REFUSED(large(5, 2), "a window of ksize 5x5 does not fit into X of shape [1, 1, 3, 3]");
}

// As Paddle compares: NaN makes a maximum start again behind it.
TEST(Pool2d, NanAndInfinity) {
  for (const DType dtype : {f32, f64}) {
    const Tensor x = tensor({1, NAN, NAN, 1, -INFINITY, NAN, INFINITY, 2}, {1, 4, 1, 2}, dtype);
    const Attrs max = {{"pooling_type", "max"}, {"ksize", Ints{1, 2}}};
    const std::vector<double> largest = values_of(run_op("pool2d", {{"X", x}}, max).at("Out"));
    EXPECT_TRUE(std::isnan(largest[0]));
    EXPECT_EQ(largest[1], 1);
    EXPECT_TRUE(std::isnan(largest[2]));
    EXPECT_EQ(largest[3], INFINITY);
    const Attrs avg = {{"pooling_type", "avg"}, {"ksize", Ints{1, 2}}};
    const std::vector<double> means = values_of(run_op("pool2d", {{"X", x}}, avg).at("Out"));
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(means[i]));
    EXPECT_EQ(means[3], INFINITY);
  }
}

// The gradient of equal elements goes to the first.
TEST(Pool2d, TiesGoToTheFirst) {
  const auto found = run_op("pool2d_grad",
                            {{"X", full({1, 1, 2, 2}, 3)},
                             {"Out", full({1, 1, 1, 1}, 3)},
                             {"Out@GRAD", full({1, 1, 1, 1}, 1)}},
                            {{"pooling_type", "max"}, {"ksize", Ints{2, 2}}});
  EXPECT_THAT(found.at("X@GRAD"), near({1, 0, 0, 0}, 0));
}

TEST(Pool2d, AllKernelsAgree) {
  const std::vector<Attrs> cases = {
      {{"strides", Ints{2, 2}}},
      {{"strides", Ints{2, 1}}, {"paddings", Ints{1, 1}}},
      {{"strides", Ints{2, 2}}, {"paddings", Ints{0, 1, 1, 2}}, {"exclusive", false}},
      {{"strides", Ints{2, 2}}, {"ceil_mode", true}},
      {{"global_pooling", true}},
      {{"adaptive", true}},
      {{"padding_algorithm", "SAME"}, {"strides", Ints{2, 2}}},
      {{"padding_algorithm", "VALID"}, {"paddings", Ints{1, 1}}},
  };
  for (const std::string type : {"max", "avg"}) {
    for (Attrs attrs : cases) {
      SCOPED_TRACE(type);
      attrs["pooling_type"] = type;
      attrs["ksize"] = Ints{3, 2};
      check_op({.type = "pool2d", .inputs = {{"X", uniform({2, 3, 7, 6}, -1, 1)}}, .attrs = attrs});
      attrs["data_format"] = "NHWC";
      check_op({.type = "pool2d", .inputs = {{"X", uniform({2, 5, 6, 3}, -1, 1)}}, .attrs = attrs});
    }
  }
}

// Sixteen lanes and a rest, and as many as make a whole block.
TEST(Pool2d, ManyChannels) {
  for (const std::string type : {"max", "avg"}) {
    for (const int64_t channels : {16, 19}) {
      for (const bool global : {false, true}) {
        const Attrs attrs = {
            {"pooling_type", type}, {"ksize", Ints{2, 2}}, {"global_pooling", global}};
        Attrs last = attrs;
        last["data_format"] = "NHWC";
        check_op({.type = "pool2d",
                  .inputs = {{"X", uniform({1, channels, 3, 3}, -1, 1)}},
                  .attrs = attrs});
        check_op({.type = "pool2d",
                  .inputs = {{"X", uniform({1, 3, 3, channels}, -1, 1)}},
                  .attrs = last});
      }
    }
  }
}

TEST(Pool2d, Refusals) {
  EXPECT_REFUSED(pool("mean", {{"ksize", Ints{2, 2}}}),
                 "pooling_type must be max or avg, but is \"mean\"");
  EXPECT_REFUSED(pool("max", {{"ksize", Ints{5, 2}}}),
                 "a window of ksize 5x2 does not fit into X of shape [1, 1, 3, 3]");
  EXPECT_REFUSED(pool("max", {{"ksize", Ints{2}}}), "ksize must hold 2 numbers, but holds 1");
}

}  // namespace
}  // namespace flotilla
