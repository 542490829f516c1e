#include "flotilla/data/image/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "flotilla/base/error.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Image shades(int64_t height, int64_t width, int64_t channels) {
  Image image(height, width, channels);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        image.row(y)[x * channels + c] = static_cast<uint8_t>(x % 64 + y % 64 + c * 30 + 9);
      }
    }
  }
  return image;
}

using Bytes = std::vector<uint8_t>;

std::string refusal(const Bytes& bytes, const DecodeOptions& options = {}) {
  try {
    decode_image(bytes, "cat.jpg", options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    return error.what();
  }
  return "";
}

void put_u32(Bytes& bytes, size_t at, uint32_t x) {
  for (int i = 0; i < 4; ++i) bytes[at + i] = static_cast<uint8_t>(x >> (24 - 8 * i));
}

// Where the marker 0xff `code` stands.
size_t find_marker(const Bytes& jpeg, uint8_t code) {
  for (size_t i = 0; i + 1 < jpeg.size(); ++i) {
    if (jpeg[i] == 0xff && jpeg[i + 1] == code) return i;
  }
  ADD_FAILURE() << "no marker " << int{code};
  return 0;
}

TEST(Codec, PngKeepsEveryPixel) {
  for (int64_t channels = 1; channels <= 4; ++channels) {
    const Image image = shades(9, 13, channels);
    EXPECT_EQ(decode_image(encode_png(image.view()), "x"), image) << channels;
  }
}

TEST(Codec, JpegComesNearAndHasTheSize) {
  for (const int64_t channels : {1, 3}) {
    const Image image = shades(40, 52, channels);
    const Image back = decode_image(encode_jpeg(image.view(), 95), "x");
    ASSERT_EQ(back.pixels.size(), image.pixels.size());
    int64_t apart = 0;
    for (size_t i = 0; i < image.pixels.size(); ++i) {
      apart += std::abs(int{back.pixels[i]} - int{image.pixels[i]});
    }
    EXPECT_LT(apart, 3 * static_cast<int64_t>(image.pixels.size()));
  }
}

TEST(Codec, GivesTheChannelsThatAreAskedFor) {
  const Bytes grey = encode_jpeg(shades(8, 8, 1).view()),
              color = encode_png(shades(8, 8, 4).view());
  EXPECT_EQ(decode_image(grey, "x", {.channels = Channels::kRgb}).channels, 3);
  EXPECT_EQ(decode_image(color, "x", {.channels = Channels::kRgb}).channels, 3);
  EXPECT_EQ(decode_image(color, "x", {.channels = Channels::kGrey}).channels, 1);
  EXPECT_EQ(decode_image(color, "x").channels, 4);
}

TEST(Codec, ScalesWhileItDecodesOnlyAsFarAsAllowed) {
  const Bytes jpeg = encode_jpeg(shades(100, 160, 3).view());
  const auto rows = [&](int64_t height, int64_t width) {
    return decode_image(jpeg, "x", {.at_least_height = height, .at_least_width = width}).height;
  };
  EXPECT_EQ(rows(0, 0), 100);
  EXPECT_EQ(rows(51, 10), 100);
  EXPECT_EQ(rows(50, 80), 50);
  EXPECT_EQ(rows(25, 10), 25);
  EXPECT_EQ(rows(1, 1), 13);  // an eighth, rounded up
}

TEST(Codec, ReadsHeadersAlone) {
  const Bytes jpeg = encode_jpeg(shades(100, 160, 3).view());
  const ImageInfo info = image_info(std::span(jpeg).first(find_marker(jpeg, 0xda) + 20), "x");
  EXPECT_EQ(info.format, "JPEG");
  EXPECT_EQ(info.height, 100);
  EXPECT_EQ(info.width, 160);
  EXPECT_EQ(info.channels, 3);
  EXPECT_EQ(image_info(encode_png(shades(5, 6, 2).view()), "x").channels, 2);
}

TEST(Codec, RefusesAJpegThatIsCutAnywhere) {
  const Bytes jpeg = encode_jpeg(shades(24, 24, 3).view());
  for (size_t size = 3; size < jpeg.size(); ++size) {
    const std::string text = refusal(Bytes(jpeg.begin(), jpeg.begin() + size));
    EXPECT_THAT(text, AllOf(HasSubstr("cat.jpg: "), HasSubstr("JPEG"))) << size;
  }
  EXPECT_EQ(refusal(Bytes(jpeg.begin(), jpeg.begin() + jpeg.size() / 2)),
            "cat.jpg: the JPEG is cut short: its " + std::to_string(jpeg.size() / 2) +
                " bytes end inside the header");
  EXPECT_THAT(refusal(Bytes(jpeg.begin(), jpeg.end() - 8)), HasSubstr("end inside the picture"));
}

TEST(Codec, RefusesAPngThatIsCutAnywhere) {
  const Bytes png = encode_png(shades(12, 12, 3).view());
  for (size_t size = 8; size < png.size(); ++size) {
    EXPECT_THAT(refusal(Bytes(png.begin(), png.begin() + size)),
                AllOf(HasSubstr("cat.jpg: "), HasSubstr("PNG")))
        << size;
  }
}

TEST(Codec, NamesTheByteOfCorruptData) {
  Bytes png = encode_png(shades(12, 12, 3).view());
  png[60] ^= 0xff;
  EXPECT_THAT(refusal(png), AllOf(HasSubstr("the PNG is corrupt near byte "), HasSubstr("IDAT")));
  Bytes jpeg = encode_jpeg(shades(64, 64, 3).view());
  const size_t scan = find_marker(jpeg, 0xda);
  jpeg[scan + 40] = 0xff;  // the end of the picture, in its middle
  jpeg[scan + 41] = 0xd9;
  EXPECT_THAT(refusal(jpeg), AllOf(HasSubstr("the JPEG is corrupt near byte "), HasSubstr(" of ")));
}

TEST(Codec, SurvivesEveryFlippedByte) {
  for (const Bytes& good :
       {encode_jpeg(shades(16, 16, 3).view()), encode_png(shades(8, 8, 3).view())}) {
    for (size_t i = 0; i < good.size(); ++i) {
      Bytes bad = good;
      bad[i] ^= 0x5a;
      try {
        const Image image = decode_image(bad, "x", {.max_pixels = 1 << 20});
        EXPECT_EQ(static_cast<int64_t>(image.pixels.size()), image.view().size());
      } catch (const Error&) {
      }
    }
  }
}

TEST(Codec, DoesNotBelieveHeadersThatPromiseTooMuch) {
  Bytes png = encode_png(shades(4, 4, 1).view());
  put_u32(png, 16, 60000);
  put_u32(png, 20, 60000);
  EXPECT_NE(refusal(png), "");  // the checksum of the header, already
  Bytes jpeg = encode_jpeg(shades(16, 16, 3).view());
  const size_t frame = find_marker(jpeg, 0xc0);
  jpeg[frame + 5] = jpeg[frame + 7] = 0xff;
  EXPECT_THAT(refusal(jpeg), HasSubstr("more than the 134217728 that are allowed"));
  jpeg[frame + 5] = jpeg[frame + 7] = 0x1f;
  EXPECT_THAT(refusal(jpeg), HasSubstr("bytes of this JPEG hold at most"));
  EXPECT_THAT(refusal(encode_png(shades(20, 20, 1).view()), {.max_pixels = 399}),
              HasSubstr("20 x 20 pixels, more than the 399 that are allowed"));
}

TEST(Codec, SaysWhatAnotherFileIs) {
  const auto text = [](const std::string& s) { return refusal(Bytes(s.begin(), s.end())); };
  EXPECT_EQ(text(""), "cat.jpg: byte 0: expected a JPEG or a PNG, but the file is empty");
  EXPECT_THAT(text("GIF89a..."), HasSubstr("this is a GIF"));
  EXPECT_THAT(text("<html>404</html>"), HasSubstr("this is text"));
  EXPECT_THAT(text("RIFF....WEBPVP8 "), HasSubstr("this is a WebP"));
  EXPECT_THAT(text("RIFF"), HasSubstr("found the bytes 52 49 46 46"));
  EXPECT_THAT(text("abcd"), HasSubstr("found the bytes 61 62 63 64"));
}

class ImageFile : public testing::Test, protected TempDir {};

TEST_F(ImageFile, IsReadAndWritten) {
  const std::filesystem::path& folder = path();
  const Image image = shades(7, 9, 3);
  write_image(folder / "a.png", image.view());
  EXPECT_EQ(read_image(folder / "a.png"), image);
  EXPECT_EQ(read_image_info(folder / "a.png").width, 9);
  write_image(folder / "a.JPG", image.view());
  EXPECT_EQ(read_image(folder / "a.JPG").channels, 3);
  EXPECT_THROW(write_image(folder / "a.gif", image.view()), Error);
  try {
    read_image(folder / "none.png");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNotFound);
  }
  EXPECT_THROW(read_image(folder), Error);
}

TEST(Codec, RefusesToWriteWhatAFormatCannotHold) {
  EXPECT_THROW(encode_jpeg(shades(4, 4, 2).view()), Error);
  EXPECT_THROW(encode_jpeg(shades(4, 4, 3).view(), 0), Error);
  EXPECT_THROW(encode_jpeg(Image(0, 4, 3).view()), Error);
  EXPECT_THROW(encode_png(Image(4, 4, 5).view()), Error);
  EXPECT_THROW(encode_png(shades(4, 4, 3).view(), 10), Error);
}

}  // namespace
}  // namespace flotilla::data
