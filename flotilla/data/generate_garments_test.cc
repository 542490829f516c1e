#include "flotilla/data/generate_garments.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "flotilla/testing/temp_dir.h"

namespace flotilla::data {
namespace {

LabeledImages garments(Split split, int64_t count) {
  return make_drawn(draw_garment, 1, split, count);
}

// A change of any bit is seen; it needs another version in python/paddle/dataset/_sets.py.
TEST(Garments, AreTheSameBitsOnEveryMachine) {
  const LabeledImages made = garments(Split::kTrain, 1000);
  EXPECT_EQ(::crc32(0, made.images.pixels.data(), made.images.pixels.size()), 1035356067u);
  EXPECT_EQ(::crc32(0, made.labels.data(), made.labels.size()), 3950535492u);
}

TEST(Garments, DependOnSeedSplitAndIndex) {
  std::array<uint8_t, kDrawnPixels> one, other;
  const LabeledImages made = garments(Split::kTest, 50);
  EXPECT_EQ(draw_garment(1, Split::kTest, 42, one), made.labels[42]);
  EXPECT_THAT(made.images.image(42), testing::ElementsAreArray(one));
  draw_garment(2, Split::kTest, 42, other);
  EXPECT_NE(one, other);
  draw_garment(1, Split::kTrain, 42, other);
  EXPECT_NE(one, other);
}

TEST(Garments, AllLabelsAreEquallyLikelyAndNoImageIsEmpty) {
  const LabeledImages made = garments(Split::kTrain, 5000);
  std::array<int, 10> counts = {};
  for (const uint8_t label : made.labels) ++counts.at(label);
  EXPECT_THAT(counts, testing::Each(testing::AllOf(testing::Gt(400), testing::Lt(600))));
  for (int64_t i = 0; i < made.images.count; ++i) {
    const auto lit = std::ranges::count_if(made.images.image(i), [](uint8_t p) { return p > 40; });
    EXPECT_GT(lit, 20) << "image " << i << " with the label " << int{made.labels[i]};
    EXPECT_LT(lit, kDrawnPixels * 9 / 10) << "image " << i;
  }
}

// The nearest of 2,000 images tells most of 300 others, but shirts least of all.
TEST(Garments, AreLearnableButNotTrivial) {
  const LabeledImages seen = garments(Split::kTrain, 2000), asked = garments(Split::kTest, 300);
  int right = 0, shirts = 0, right_shirts = 0;
  for (int64_t i = 0; i < asked.images.count; ++i) {
    int64_t least = std::numeric_limits<int64_t>::max();
    uint8_t found = 0;
    for (int64_t j = 0; j < seen.images.count; ++j) {
      int64_t distance = 0;
      for (int k = 0; k < kDrawnPixels; ++k) {
        const int64_t d = asked.images.image(i)[k] - seen.images.image(j)[k];
        distance += d * d;
      }
      if (distance < least) {
        least = distance;
        found = seen.labels[j];
      }
    }
    right += found == asked.labels[i];
    shirts += asked.labels[i] == 6;
    right_shirts += asked.labels[i] == 6 && found == 6;
  }
  EXPECT_GT(right, 300 * 65 / 100);
  EXPECT_LT(right, 300 * 95 / 100);
  EXPECT_LT(right_shirts * 10, shirts * 7);
}

TEST(Garments, AreWrittenAsTheFourFilesOfMnist) {
  const TempDir dir;
  write_garments(dir.path(), {.train = 30, .test = 20});
  EXPECT_EQ(read_idx(dir.path() / "train-images-idx3-ubyte.gz",
                     dir.path() / "train-labels-idx1-ubyte.gz"),
            garments(Split::kTrain, 30));
  EXPECT_EQ(
      read_idx(dir.path() / "t10k-images-idx3-ubyte.gz", dir.path() / "t10k-labels-idx1-ubyte.gz"),
      garments(Split::kTest, 20));
}

}  // namespace
}  // namespace flotilla::data
