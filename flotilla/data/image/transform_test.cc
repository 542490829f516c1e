#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "flotilla/base/error.h"
#include "flotilla/data/image/color.h"
#include "flotilla/data/image/geometry.h"
#include "flotilla/data/image/resize.h"

namespace flotilla::data {
namespace {

using testing::ElementsAre;

Image noise(int64_t height, int64_t width, int64_t channels, unsigned seed = 1) {
  std::mt19937 random(seed);
  Image image(height, width, channels);
  for (uint8_t& x : image.pixels) x = static_cast<uint8_t>(random());
  return image;
}

const std::vector<double> kBlack = {0};

constexpr Interpolation kSmooth[] = {Interpolation::kBilinear, Interpolation::kBicubic,
                                     Interpolation::kArea, Interpolation::kLanczos};

// Straight from the taps, in double precision.
double expected_at(const ImageView& image, const Taps& down, const Taps& across, int64_t y,
                   int64_t x, int64_t c) {
  double sum = 0;
  for (int64_t j = 0; j < down.most; ++j) {
    const int64_t row = down.start[y] + std::min<int64_t>(j, down.count[y] - 1);
    for (int64_t i = 0; i < across.most; ++i) {
      const int64_t col = across.start[x] + std::min<int64_t>(i, across.count[x] - 1);
      sum += down.weight[y * down.most + j] * across.weight[x * across.most + i] *
             image.row(row)[col * image.channels + c];
    }
  }
  return sum;
}

TEST(Resize, IsTheWeightedSumOfItsTaps) {
  for (const int64_t channels : {1, 3, 4}) {
    Image image = noise(23, 31, channels);
    for (uint8_t& x : image.pixels) x = static_cast<uint8_t>(64 + x / 2);  // no clipping
    for (const Style style : {Style::kPil, Style::kCv2}) {
      for (const Interpolation how : kSmooth) {
        const Image out = resize(image.view(), 11, 40, how, style);
        if (style == Style::kCv2 && how == Interpolation::kArea) continue;  // spread, below
        const Taps down = make_taps(23, 11, how, style, true);
        const Taps across = make_taps(31, 40, how, style, false);
        for (int64_t y = 0; y < out.height; ++y) {
          for (int64_t i = 0; i < out.width * channels; ++i) {
            const double e = expected_at(image.view(), down, across, y, i / channels, i % channels);
            ASSERT_NEAR(out.pixels[y * out.width * channels + i], e, 2.01)
                << static_cast<int>(how) << " " << static_cast<int>(style);
          }
        }
      }
    }
  }
}

TEST(Resize, WeightsAddUpToOne) {
  for (const Style style : {Style::kPil, Style::kCv2}) {
    for (const Interpolation how : kSmooth) {
      for (const auto& [from, to] : {std::pair{100, 7}, {7, 100}, {1, 5}, {5, 1}, {33, 33}}) {
        const Taps taps = make_taps(from, to, how, style, false);
        for (int64_t i = 0; i < to; ++i) {
          double sum = 0;
          for (int64_t k = 0; k < taps.most; ++k) sum += taps.weight[i * taps.most + k];
          ASSERT_NEAR(sum, 1, 2e-3) << from << " " << to << " " << i;
          ASSERT_GE(taps.start[i], 0);
          ASSERT_LE(taps.start[i] + taps.count[i], from);
        }
      }
    }
  }
}

TEST(Resize, KeepsFlatColorsAndSizes) {
  Image flat(13, 17, 3);
  for (size_t i = 0; i < flat.pixels.size(); ++i)
    flat.pixels[i] = static_cast<uint8_t>(50 * (i % 3));
  for (const Style style : {Style::kPil, Style::kCv2}) {
    for (const Interpolation how : kSmooth) {
      const Image out = resize(flat.view(), 30, 5, how, style);
      ASSERT_EQ(out.height, 30);
      ASSERT_EQ(out.width, 5);
      for (size_t i = 0; i < out.pixels.size(); ++i) ASSERT_EQ(out.pixels[i], 50 * (i % 3));
    }
  }
}

TEST(Resize, ToTheSameSizeChangesNothing) {
  const Image image = noise(9, 14, 3);
  for (const Style style : {Style::kPil, Style::kCv2}) {
    EXPECT_EQ(resize(image.view(), 9, 14, Interpolation::kNearest, style), image);
    for (const Interpolation how : kSmooth) {
      EXPECT_EQ(resize(image.view(), 9, 14, how, style), image) << static_cast<int>(how);
    }
  }
}

TEST(Resize, OfAWindowIsThatPartOfTheWhole) {
  const Image image = noise(37, 29, 3);
  const Window window = {.top = 3, .left = 5, .height = 11, .width = 7};
  for (const Style style : {Style::kPil, Style::kCv2}) {
    for (const Interpolation how :
         {Interpolation::kNearest, Interpolation::kBilinear, Interpolation::kBicubic,
          Interpolation::kArea, Interpolation::kLanczos}) {
      const Image whole = resize(image.view(), 20, 16, how, style);
      EXPECT_EQ(resize(image.view(), 20, 16, how, style, window), crop(whole.view(), 3, 5, 11, 7));
    }
  }
}

TEST(Resize, ReadsARectangleOfALargerImage) {
  const Image image = noise(30, 30, 3);
  const Image part = crop(image.view(), 11, 9, 19, 21);
  EXPECT_EQ(resize(image.view().crop(11, 9, 19, 21), 8, 8, Interpolation::kBilinear, Style::kPil),
            resize(part.view(), 8, 8, Interpolation::kBilinear, Style::kPil));
}

TEST(Resize, TakesFloatsToo) {
  Pixels<float> image(2, 2, 1);
  image.pixels = {0, 1, 2, 3};
  const Pixels<float> out = resize(image.view(), 1, 1, Interpolation::kArea, Style::kCv2);
  EXPECT_FLOAT_EQ(out.pixels[0], 1.5f);
  EXPECT_THROW(resize(image.view(), 0, 1, Interpolation::kArea, Style::kCv2), Error);
}

TEST(Resize, ExtentsFollowPaddlesRule) {
  EXPECT_EQ(resized_extents(300, 200, 100), std::pair(int64_t{150}, int64_t{100}));
  EXPECT_EQ(resized_extents(200, 301, 100), std::pair(int64_t{100}, int64_t{150}));
  EXPECT_EQ(resized_extents(100, 301, 100), std::pair(int64_t{100}, int64_t{301}));
}

TEST(Geometry, FlipsAndTransposes) {
  Image image(2, 2, 1);
  image.pixels = {1, 2, 3, 4};
  EXPECT_THAT(flip(image.view(), Axis::kHorizontal).pixels, ElementsAre(2, 1, 4, 3));
  EXPECT_THAT(flip(image.view(), Axis::kVertical).pixels, ElementsAre(3, 4, 1, 2));
  EXPECT_THAT(transposed(image.view()).pixels, ElementsAre(1, 3, 2, 4));
}

TEST(Geometry, PadsInFourWays) {
  Image row(1, 3, 1);
  row.pixels = {1, 2, 3};
  const auto padded = [&](Border border) {
    return pad(row.view(), {.left = 2, .top = 0, .right = 2, .bottom = 0}, border,
               std::vector<double>{9})
        .pixels;
  };
  EXPECT_THAT(padded(Border::kConstant), ElementsAre(9, 9, 1, 2, 3, 9, 9));
  EXPECT_THAT(padded(Border::kEdge), ElementsAre(1, 1, 1, 2, 3, 3, 3));
  EXPECT_THAT(padded(Border::kReflect), ElementsAre(3, 2, 1, 2, 3, 2, 1));
  EXPECT_THAT(padded(Border::kSymmetric), ElementsAre(2, 1, 1, 2, 3, 3, 2));
  EXPECT_THROW(pad(row.view(), {.left = -1}, Border::kEdge, kBlack), Error);
  EXPECT_THROW(pad(row.view(), {.left = 1}, Border::kConstant, std::vector<double>{1, 2}), Error);
}

TEST(Geometry, RefusesCropsOutside) {
  const Image image = noise(4, 5, 1);
  EXPECT_EQ(crop(image.view(), 1, 1, 3, 4).width, 4);
  EXPECT_THROW(crop(image.view(), 1, 1, 4, 4), Error);
  EXPECT_THROW(crop(image.view(), -1, 0, 2, 2), Error);
}

TEST(Geometry, WarpsByTheIdentityAndByShifts) {
  const Image image = noise(8, 9, 3);
  for (const Style style : {Style::kPil, Style::kCv2}) {
    for (const Interpolation how :
         {Interpolation::kNearest, Interpolation::kBilinear, Interpolation::kBicubic}) {
      const PlaneMap same = {1, 0, 0, 0, 1, 0, 0, 0};
      EXPECT_EQ(warp(image.view(), 8, 9, same, how, style, kBlack), image);
      const PlaneMap right = {1, 0, -2, 0, 1, 0, 0, 0};
      const Image moved = warp(image.view(), 8, 9, right, how, style, kBlack);
      EXPECT_EQ(crop(moved.view(), 0, 2, 8, 7), crop(image.view(), 0, 0, 8, 7));
      EXPECT_EQ(moved.pixels[0], 0);
    }
  }
  EXPECT_THROW(warp(image.view(), 8, 9, PlaneMap{}, Interpolation::kLanczos, Style::kPil, kBlack),
               Error);
}

TEST(Geometry, WarpSurvivesMapsWithoutAnInverse) {
  const Image image = noise(8, 9, 3);
  const PlaneMap wild = {1e300, 1, 1, 1, -1e300, 1, -1, -1};
  for (const Style style : {Style::kPil, Style::kCv2}) {
    for (const Interpolation how :
         {Interpolation::kNearest, Interpolation::kBilinear, Interpolation::kBicubic}) {
      EXPECT_EQ(warp(image.view(), 5, 6, wild, how, style, kBlack).width, 6);
    }
  }
}

TEST(Color, BlendsFromGreyToTheImageAndBeyond) {
  Image image(1, 3, 1);
  image.pixels = {10, 100, 250};
  EXPECT_THAT(blend(image.view(), 50, 0).pixels, ElementsAre(50, 50, 50));
  EXPECT_THAT(blend(image.view(), 50, 1).pixels, ElementsAre(10, 100, 250));
  EXPECT_THAT(blend(image.view(), 50, 2).pixels, ElementsAre(0, 150, 255));
  EXPECT_EQ(grey_mean(image.view()), 120);
}

TEST(Color, AWholeTurnOfHueIsNone) {
  const Image image = noise(20, 20, 3);
  for (const Style style : {Style::kPil, Style::kCv2}) {
    EXPECT_EQ(shift_hue(image.view(), 256, style), shift_hue(image.view(), 0, style));
  }
  Image grey(1, 1, 3);
  grey.pixels = {77, 77, 77};
  EXPECT_EQ(shift_hue(grey.view(), 40, Style::kPil), grey);
  EXPECT_EQ(shift_hue(grey.view(), 40, Style::kCv2), grey);
  EXPECT_THROW(shift_hue(noise(2, 2, 1).view(), 1, Style::kPil), Error);
}

}  // namespace
}  // namespace flotilla::data
