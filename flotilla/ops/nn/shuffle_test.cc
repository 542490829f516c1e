// flotilla/ops/nn/shuffle_test.cc
//
// What moves channels or keeps some of them: shuffle.cc, maxout.cc.

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(PixelShuffle, KnownValues) {
  const Tensor x = tensor({0, 1, 2, 3, 4, 5, 6, 7}, {1, 4, 1, 2});
  EXPECT_THAT(run_op("pixel_shuffle", {{"X", x}}, {{"upscale_factor", 2}}).at("Out"),
              near(tensor({0, 2, 1, 3, 4, 6, 5, 7}, {1, 1, 2, 4}), 0));
  EXPECT_THAT(run_op("pixel_shuffle", {{"X", tensor({0, 1, 2, 3, 4, 5, 6, 7}, {1, 1, 2, 4})}},
                     {{"upscale_factor", 2}, {"data_format", "NHWC"}})
                  .at("Out"),
              near(tensor({0, 1, 4, 5, 2, 3, 6, 7}, {1, 2, 4, 1}), 0));
}

TEST(PixelUnshuffle, IsTheWayBack) {
  const Tensor x = uniform({2, 8, 3, 2}, -1, 1);
  for (const std::string format : {"NCHW", "NHWC"}) {
    const Tensor from = format == "NCHW" ? x : uniform({2, 3, 2, 8}, -1, 1);
    const Tensor there =
        run_op("pixel_shuffle", {{"X", from}}, {{"upscale_factor", 2}, {"data_format", format}})
            .at("Out");
    EXPECT_THAT(run_op("pixel_unshuffle", {{"X", there}},
                       {{"downscale_factor", 2}, {"data_format", format}})
                    .at("Out"),
                near(from, 0));
  }
}

TEST(ChannelShuffle, KnownValues) {
  const Tensor x = tensor({0, 1, 2, 3, 4, 5}, {1, 6, 1, 1});
  const Tensor expected = tensor({0, 3, 1, 4, 2, 5}, {1, 6, 1, 1});
  EXPECT_THAT(run_op("channel_shuffle", {{"X", x}}, {{"groups", 2}}).at("Out"), near(expected, 0));
  EXPECT_THAT(run_op("shuffle_channel", {{"X", x}}, {{"group", 2}}).at("Out"), near(expected, 0));
}

TEST(Shuffles, AllKernelsAgree) {
  const Tensor x = uniform({2, 8, 2, 2}, -1, 1), last = uniform({2, 2, 2, 8}, -1, 1);
  check_op({.type = "pixel_shuffle", .inputs = {{"X", x}}, .attrs = {{"upscale_factor", 2}}});
  check_op({.type = "pixel_shuffle",
            .inputs = {{"X", last}},
            .attrs = {{"upscale_factor", 2}, {"data_format", "NHWC"}}});
  check_op({.type = "pixel_unshuffle", .inputs = {{"X", x}}, .attrs = {{"downscale_factor", 2}}});
  check_op({.type = "pixel_unshuffle",
            .inputs = {{"X", last}},
            .attrs = {{"downscale_factor", 2}, {"data_format", "NHWC"}}});
  check_op({.type = "channel_shuffle", .inputs = {{"X", x}}, .attrs = {{"groups", 2}}});
  check_op({.type = "channel_shuffle",
            .inputs = {{"X", last}},
            .attrs = {{"groups", 4}, {"data_format", "NHWC"}}});
  check_op({.type = "shuffle_channel", .inputs = {{"X", x}}, .attrs = {{"group", 2}}});
}

TEST(Shuffles, SpaceToDepthAsInPaddle) {
  const Tensor x = uniform({1, 4, 2, 2}, -1, 1);
  std::vector<double> counted;
  for (int i = 0; i < 16; ++i) counted.push_back(i);
  EXPECT_THAT(
      run_op("space_to_depth", {{"X", from_values(counted, {1, 4, 2, 2}, f32)}},
             {{"blocksize", int64_t{2}}})
          .at("Out"),
      near(tensor({0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15}, {1, 16, 1, 1}), 0));
  check_op({.type = "space_to_depth",
            .inputs = {{"X", uniform({2, 8, 2, 4}, -1, 1)}},
            .attrs = {{"blocksize", int64_t{2}}}});
  EXPECT_REFUSED(build_op("space_to_depth", {{"X", x}}, {{"blocksize", int64_t{3}}}),
                 "4 channels of images, which have shape [1, 4, 2, 2], cannot be divided by 9");
  EXPECT_REFUSED(build_op("space_to_depth", {{"X", x}}, {{"blocksize", int64_t{1} << 32}}),
                 "blocksize must lie in [1, 65536), but is 4294967296");
}

TEST(Shuffles, Refusals) {
  const Tensor x = uniform({2, 6, 3, 2}, -1, 1);
  EXPECT_REFUSED(build_op("pixel_shuffle", {{"X", x}}, {{"upscale_factor", 2}}),
                 "6 channels of images, which have shape [2, 6, 3, 2], cannot be divided by 4");
  EXPECT_REFUSED(build_op("pixel_unshuffle", {{"X", x}}, {{"downscale_factor", 2}}),
                 "3 rows of images, which have shape [2, 6, 3, 2], cannot be divided by 2");
  EXPECT_REFUSED(build_op("pixel_unshuffle", {{"X", uniform({1, 8, 0, 0}, -1, 1)}},
                          {{"downscale_factor", 2147483647}}),
                 "downscale_factor must lie in [1, 65536), but is 2147483647");
  EXPECT_REFUSED(build_op("channel_shuffle", {{"X", x}}, {{"groups", 0}}),
                 "groups must lie in [1, 65536), but is 0");
  EXPECT_REFUSED(build_op("pixel_shuffle", {{"X", x}}, {{"data_format", "HWC"}}),
                 "a data format is NCHW or NHWC, but \"HWC\" was given");
  EXPECT_REFUSED(build_op("shuffle_channel", {{"X", uniform({2, 6}, -1, 1)}}, {{"group", 2}}),
                 "images must have four axes, but have shape [2, 6]");
}

}  // namespace
}  // namespace flotilla
