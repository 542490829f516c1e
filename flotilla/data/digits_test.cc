#include "flotilla/data/digits.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "flotilla/base/error.h"
#include "flotilla/data/digit_strokes.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::data {
namespace {

namespace fs = std::filesystem;
using testing::Each;
using testing::SizeIs;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

uLong checksum(std::span<const uint8_t> bytes) {
  return crc32(0, bytes.data(), static_cast<uInt>(bytes.size()));
}

int64_t bright_pixels(std::span<const uint8_t> pixels) {
  return std::ranges::count_if(pixels, [](uint8_t pixel) { return pixel > 96; });
}

TEST(DigitStrokes, EveryStyleCanBeDrawn) {
  std::vector<size_t> styles;
  for (int digit = 0; digit < 10; ++digit) {
    styles.push_back(styles_of(digit).size());
    for (const DigitStyle& style : styles_of(digit)) {
      EXPECT_THAT(style, SizeIs(testing::AllOf(testing::Ge(1), testing::Le(2))));
      EXPECT_THAT(style, Each(SizeIs(testing::Ge(2))));
    }
  }
  EXPECT_THAT(styles, testing::ElementsAre(3, 4, 3, 3, 3, 3, 3, 3, 3, 3));
  EXPECT_THAT([] { styles_of(10); }, ThrowsMessage<Error>("a digit must lie in [0, 9], but is 10"));
}

// These numbers may change only together with kDigitsVersion.
TEST(Digits, AreTheSameBitsOnEveryMachine) {
  const LabeledImages train = make_digits(1, Split::kTrain, 1000);
  EXPECT_EQ(kDigitsVersion, 1);
  EXPECT_EQ(checksum(train.images.pixels), 364845365);
  EXPECT_EQ(checksum(train.labels), 711099147);
  EXPECT_EQ(checksum(make_digits(1, Split::kTest, 1000).images.pixels), 1142216468);
}

TEST(Digits, AnImageDependsOnItsIndexAlone) {
  const LabeledImages set = make_digits(5, Split::kTest, 100);
  EXPECT_EQ(set.images.count, 100);
  EXPECT_THAT(set.labels, SizeIs(100));
  for (const int64_t i : {99, 0, 42}) {
    std::array<uint8_t, kDigitPixels> pixels;
    EXPECT_EQ(draw_digit(5, Split::kTest, i, pixels), set.labels[i]);
    EXPECT_THAT(set.images.image(i), testing::ElementsAreArray(pixels));
  }
  const LabeledImages fewer = make_digits(5, Split::kTest, 60);
  EXPECT_TRUE(std::ranges::equal(fewer.images.pixels,
                                 std::span(set.images.pixels).first(60 * kDigitPixels)));
}

TEST(Digits, DifferBetweenSeedsAndSplits) {
  const LabeledImages one = make_digits(1, Split::kTrain, 1000);
  for (const LabeledImages& other :
       {make_digits(2, Split::kTrain, 1000), make_digits(1, Split::kTest, 1000)}) {
    int64_t same_labels = 0;
    for (int64_t i = 0; i < 1000; ++i) {
      same_labels += one.labels[i] == other.labels[i];
      EXPECT_FALSE(std::ranges::equal(one.images.image(i), other.images.image(i))) << i;
    }
    EXPECT_NEAR(same_labels, 100, 50);  // by chance one in ten
  }
}

TEST(Digits, NoImageComesTwice) {
  const LabeledImages set = make_digits(1, Split::kTrain, 5000);
  std::vector<uLong> checksums;
  for (int64_t i = 0; i < set.images.count; ++i) checksums.push_back(checksum(set.images.image(i)));
  std::ranges::sort(checksums);
  // Two checksums of 5,000 agree by chance once in 340 seeds; this seed is none of those.
  EXPECT_EQ(std::ranges::adjacent_find(checksums), checksums.end());
}

TEST(Digits, ClassesAreBalanced) {
  std::array<int, 10> counts = {};
  for (const uint8_t label : make_digits(1, Split::kTrain, 20000).labels) ++counts.at(label);
  EXPECT_THAT(counts, Each(testing::AllOf(testing::Gt(1830), testing::Lt(2170))));  // 4 sigma
}

TEST(Digits, AreNeitherEmptyNorSaturatedNorOffTheImage) {
  const LabeledImages set = make_digits(1, Split::kTrain, 5000);
  int64_t sum = 0;
  for (int64_t i = 0; i < set.images.count; ++i) {
    const std::span<const uint8_t> image = set.images.image(i);
    const int64_t ink = bright_pixels(image);
    EXPECT_GT(ink, 15) << "image " << i << ", a " << int{set.labels[i]};
    EXPECT_LT(ink, kDigitPixels / 2) << "image " << i << ", a " << int{set.labels[i]};
    EXPECT_LT(bright_pixels(image.first(kDigitSide)) + bright_pixels(image.last(kDigitSide)), 8)
        << "image " << i << ", a " << int{set.labels[i]};
    sum += std::accumulate(image.begin(), image.end(), int64_t{0});
  }
  // MNIST's mean is 33.
  EXPECT_NEAR(static_cast<double>(sum) / set.images.pixels.size(), 27, 3);
}

TEST(Digits, RefusesANegativeNumber) {
  EXPECT_THAT([] { make_digits(1, Split::kTrain, -1); },
              ThrowsMessage<Error>("the number of images must not be negative, but is -1"));
}

TEST(Digits, AreWrittenAsTheFourFilesOfMnist) {
  const TempDir parent;
  const fs::path dir = parent.path() / "a/b";
  write_digits(dir, {.train = 70, .test = 30, .seed = 9});
  EXPECT_EQ(read_idx(dir / "train-images-idx3-ubyte.gz", dir / "train-labels-idx1-ubyte.gz"),
            make_digits(9, Split::kTrain, 70));
  EXPECT_EQ(read_idx(dir / "t10k-images-idx3-ubyte.gz", dir / "t10k-labels-idx1-ubyte.gz"),
            make_digits(9, Split::kTest, 30));
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir)) names.push_back(entry.path().filename());
  EXPECT_THAT(names,
              UnorderedElementsAre("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
                                   "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"));
  const fs::path file = dir / "t10k-labels-idx1-ubyte.gz";
  EXPECT_THAT([&] { write_digits(file / "c"); },
              ThrowsMessage<Error>("cannot create the directory " + (file / "c").string() +
                                   ": Not a directory"));
}

}  // namespace
}  // namespace flotilla::data
