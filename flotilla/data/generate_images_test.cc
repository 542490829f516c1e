#include "flotilla/data/generate_images.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "flotilla/base/error.h"

namespace flotilla::data {
namespace {

struct Shape {
  int label = 0;
  std::vector<uint8_t> planes = std::vector<uint8_t>(kShapeBytes);
};

Shape shape(uint64_t seed, Split split, int64_t index) {
  Shape made;
  made.label = draw_shape(seed, split, index,
                          std::span<uint8_t, kShapeBytes>(made.planes.data(), kShapeBytes));
  return made;
}

std::vector<uint8_t> flower(uint64_t seed, int64_t index, int label) {
  std::vector<uint8_t> rgb(kFlowerBytes);
  draw_flower(seed, index, label, std::span<uint8_t, kFlowerBytes>(rgb.data(), kFlowerBytes));
  return rgb;
}

// A change of any bit is seen.
TEST(GeneratedImages, AreTheseBits) {
  uLong crc = 0;
  for (int i = 0; i < 20; ++i) {
    const Shape made = shape(1, Split::kTrain, i);
    crc = ::crc32(crc, made.planes.data(), kShapeBytes);
  }
  EXPECT_EQ(crc, 2227747949u);
  EXPECT_EQ(::crc32(0, flower(1, 0, 17).data(), kFlowerBytes), 3272305303u);
}

TEST(GeneratedImages, DependOnSeedSplitAndIndex) {
  EXPECT_EQ(shape(1, Split::kTrain, 5).planes, shape(1, Split::kTrain, 5).planes);
  EXPECT_NE(shape(1, Split::kTest, 5).planes, shape(1, Split::kTrain, 5).planes);
  EXPECT_NE(shape(2, Split::kTrain, 5).planes, shape(1, Split::kTrain, 5).planes);
  EXPECT_NE(flower(1, 1, 3), flower(1, 2, 3));
  EXPECT_THAT([] { flower(1, 1, 102); },
              testing::ThrowsMessage<Error>("a flower's class lies in [0, 102), but is 102"));
}

TEST(GeneratedImages, ShapesHaveAllLabels) {
  std::array<int, kShapeClasses> count = {};
  for (int i = 0; i < 3000; ++i) ++count[shape(1, Split::kTrain, i).label];
  EXPECT_THAT(count, testing::Each(testing::AllOf(testing::Gt(10), testing::Lt(60))));
}

// How much of each of 4 x 4 x 4 colours there is in a picture.
std::array<double, 64> colours(const std::vector<uint8_t>& rgb) {
  std::array<double, 64> share = {};
  for (size_t i = 0; i < rgb.size(); i += 3) {
    share[rgb[i] / 64 * 16 + rgb[i + 1] / 64 * 4 + rgb[i + 2] / 64] += 3.0 / rgb.size();
  }
  return share;
}

// The nearest of a few training pictures of each colour of petals, by colours alone.
TEST(GeneratedImages, FlowersAreTellable) {
  constexpr int kColors = 17, kEach = 6;
  std::vector<std::array<double, 64>> seen;
  for (int i = 0; i < kColors * kEach; ++i) seen.push_back(colours(flower(1, i, i / kEach * 6)));
  int right = 0;
  for (int color = 0; color < kColors; ++color) {
    const std::array<double, 64> found = colours(flower(1, 1000 + color, color * 6));
    double least = std::numeric_limits<double>::max();
    int nearest = -1;
    for (size_t i = 0; i < seen.size(); ++i) {
      double distance = 0;
      for (int j = 0; j < 64; ++j) distance += std::abs(found[j] - seen[i][j]);
      if (distance < least) {
        least = distance;
        nearest = static_cast<int>(i) / kEach;
      }
    }
    right += nearest == color;
  }
  EXPECT_GE(right, 5);  // one by chance
}

// Softmax regression on pixels knows the colour of a shape far better than chance, 10 %; its kind
// takes a network with a hidden layer.
TEST(GeneratedImages, ShapesAreLearnable) {
  constexpr int kTrain = 2000, kTest = 500, kColors = 10;
  std::vector<std::array<float, kShapeBytes>> weights(kColors);
  const auto scores = [&](const Shape& made) {
    std::array<double, kColors> values = {};
    double sum = 0;
    for (int k = 0; k < kColors; ++k) {
      float dot = 0;
      for (int i = 0; i < kShapeBytes; ++i) dot += weights[k][i] * (made.planes[i] / 255.0f - 0.5f);
      sum += values[k] = std::exp(dot);
    }
    for (double& value : values) value /= sum;
    return values;
  };
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int n = 0; n < kTrain; ++n) {
      const Shape made = shape(1, Split::kTrain, n);
      const std::array<double, kColors> values = scores(made);
      for (int k = 0; k < kColors; ++k) {
        const float step = 0.002f * static_cast<float>((made.label % 10 == k) - values[k]);
        for (int i = 0; i < kShapeBytes; ++i)
          weights[k][i] += step * (made.planes[i] / 255.f - .5f);
      }
    }
  }
  int right = 0;
  for (int n = 0; n < kTest; ++n) {
    const Shape made = shape(1, Split::kTest, n);
    const std::array<double, kColors> values = scores(made);
    right += std::max_element(values.begin(), values.end()) - values.begin() == made.label % 10;
  }
  EXPECT_GT(right, kTest * 0.8);
}

}  // namespace
}  // namespace flotilla::data
