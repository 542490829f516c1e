#include "flotilla/data/image/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "flotilla/base/error.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::data {
namespace {

using testing::HasSubstr;

Image noise(int64_t height, int64_t width, int64_t channels, unsigned seed = 1) {
  std::mt19937 random(seed);
  Image image(height, width, channels);
  for (uint8_t& x : image.pixels) x = static_cast<uint8_t>(random());
  return image;
}

std::vector<float> table(int64_t channels) {
  std::vector<float> made(channels * 256);
  for (size_t i = 0; i < made.size(); ++i) made[i] = static_cast<float>(i) * 0.5f - 7;
  return made;
}

// What write() must do, one value at a time.
std::vector<float> written(const Image& image, const std::vector<float>& table, bool planes) {
  std::vector<float> out(image.pixels.size());
  for (int64_t y = 0; y < image.height; ++y) {
    for (int64_t x = 0; x < image.width; ++x) {
      for (int64_t c = 0; c < image.channels; ++c) {
        const int64_t from = (y * image.width + x) * image.channels + c;
        const int64_t to = planes ? (c * image.height + y) * image.width + x : from;
        out[to] = table[c * 256 + image.pixels[from]];
      }
    }
  }
  return out;
}

std::vector<float> run(const ImageChain& chain, const Image& image,
                       const std::vector<int32_t>& drawn) {
  std::vector<float> out(chain.shape().numel());
  chain.run(image.view(), drawn, out.data());
  return out;
}

TEST(Chain, EqualsTheSingleSteps) {
  const Image image = noise(50, 70, 3);
  for (const bool planes : {false, true}) {
    const ImageChain chain({.steps = {ResizeStep{32, 0}, CropStep{24, 20, true}, FlipStep{}},
                            .channels = 3,
                            .table = table(3),
                            .planes = planes});
    ASSERT_EQ(chain.params(), 3);
    const Image small = resize(image.view(), 32, 44, Interpolation::kBilinear, Style::kPil);
    const Image part = crop(small.view(), 5, 9, 24, 20);
    const Image mirror = flip(part.view(), Axis::kHorizontal);
    EXPECT_EQ(run(chain, image, {5, 9, 0}), written(part, table(3), planes));
    EXPECT_EQ(run(chain, image, {5, 9, 1}), written(mirror, table(3), planes));
  }
}

TEST(Chain, CropsARectangleBeforeItResizes) {
  const Image image = noise(50, 70, 3);
  const ImageChain chain({.steps = {RectangleStep{}, ResizeStep{16, 16}, FlipStep{Axis::kVertical},
                                    FlipStep{Axis::kHorizontal}},
                          .channels = 3,
                          .table = table(3)});
  ASSERT_EQ(chain.params(), 6);
  const Image small =
      resize(image.view().crop(10, 20, 30, 40), 16, 16, Interpolation::kBilinear, Style::kPil);
  const Image turned = flip(flip(small.view(), Axis::kVertical).view(), Axis::kHorizontal);
  EXPECT_EQ(run(chain, image, {10, 20, 30, 40, 1, 1}), written(turned, table(3), false));
}

TEST(Chain, PadsThenCropsAndFlipsInTheMiddle) {
  const Image image = noise(8, 8, 1);
  const ImageChain chain({.steps = {FlipStep{}, PadStep{{2, 2, 2, 2}}, CropStep{8, 8, true}},
                          .channels = 1,
                          .height = 8,
                          .width = 8,
                          .table = table(1),
                          .flat = true});
  EXPECT_EQ(chain.shape(), Shape({8, 8}));
  const Image mirror = flip(image.view(), Axis::kHorizontal);
  const Image padded = pad(mirror.view(), {2, 2, 2, 2}, Border::kConstant, std::vector<double>{0});
  EXPECT_EQ(run(chain, image, {1, 1, 3}),
            written(crop(padded.view(), 1, 3, 8, 8), table(1), false));
}

TEST(Chain, TakesTheMiddleWithHalvesToEven) {
  const Image image = noise(9, 8, 1);
  const ImageChain chain({.steps = {CropStep{4, 5}}, .channels = 1, .height = 9, .width = 8});
  EXPECT_EQ(chain.dtype(), u8);
  std::vector<uint8_t> out(chain.bytes());
  chain.run(image.view(), {}, out.data());
  EXPECT_EQ(out, crop(image.view(), 2, 2, 4, 5).pixels);  // 2.5 and 1.5
}

TEST(Chain, RefusesWhatHasNoOneSize) {
  EXPECT_THROW(ImageChain({.steps = {ResizeStep{32, 0}}, .channels = 3}), Error);
  EXPECT_THROW(ImageChain({.steps = {RectangleStep{}}, .channels = 3, .height = 9, .width = 9}),
               Error);
  EXPECT_THROW(ImageChain({.channels = 3, .height = 4, .width = 4, .table = table(1)}), Error);
  const ImageChain chain({.steps = {CropStep{9, 9}}, .channels = 3, .table = table(3)});
  EXPECT_THROW(run(chain, noise(8, 20, 3), {}), Error);
  EXPECT_THROW(run(chain, noise(20, 20, 1), {}), Error);
}

TEST(Chain, IsAColumnOfImages) {
  const Tensor bytes(u8, Shape({5, 6, 7, 3}));
  const Image all = noise(5 * 6, 7, 3);
  std::copy(all.pixels.begin(), all.pixels.end(), static_cast<uint8_t*>(bytes.raw()));
  const ImageChain chain({.steps = {CropStep{4, 4, true}},
                          .channels = 3,
                          .height = 6,
                          .width = 7,
                          .table = table(3),
                          .planes = true});
  const auto column = transformed_images(bytes, chain);
  EXPECT_EQ(column->size(), 5);
  EXPECT_EQ(column->shape(), Shape({3, 4, 4}));
  std::vector<float> out(2 * chain.shape().numel());
  const std::vector<int64_t> indices = {4, 1};
  const std::vector<int32_t> drawn = {1, 2, 0, 3};
  column->gather(indices, drawn, out.data());
  const Image fourth = crop(all.view().crop(4 * 6, 0, 6, 7), 1, 2, 4, 4);
  EXPECT_EQ(std::vector(out.begin(), out.begin() + 48), written(fourth, table(3), true));
  EXPECT_THROW(transformed_images(Tensor(f32, Shape({5, 6, 7})), chain), Error);
}

class ChainFiles : public testing::Test, protected TempDir {};

TEST_F(ChainFiles, AreAColumn) {
  std::vector<std::filesystem::path> files;
  std::vector<Image> images;
  for (int i = 0; i < 7; ++i) {
    images.push_back(noise(20 + i, 30 - i, 3, i));
    files.push_back(path() / (std::to_string(i) + ".png"));
    write_image(files.back(), images.back().view());
  }
  const ImageChain chain({.steps = {ResizeStep{8, 9}}, .channels = 3, .table = table(3)});
  const std::vector<int64_t> indices = {6, 0, 3};
  for (const int threads : {1, 3}) {
    const auto column = image_files(files, chain, threads);
    std::vector<float> out(3 * chain.shape().numel());
    column->gather(indices, {}, out.data());
    const Image last = resize(images[6].view(), 8, 9, Interpolation::kBilinear, Style::kPil);
    EXPECT_EQ(std::vector(out.begin(), out.begin() + chain.shape().numel()),
              written(last, table(3), false));
    std::filesystem::resize_file(files[0], 40);
    try {
      column->gather(indices, {}, out.data());
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("0.png: the PNG is cut short"));
    }
    write_image(files[0], images[0].view());
  }
}

}  // namespace
}  // namespace flotilla::data
