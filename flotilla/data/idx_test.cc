#include "flotilla/data/idx.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <numeric>

#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::data {
namespace {

namespace fs = std::filesystem;
using testing::Each;
using testing::ElementsAre;
using testing::Le;
using testing::SizeIs;
using testing::ThrowsMessage;

class Idx : public testing::Test, protected TempDir {};

std::string u32(uint32_t x) {
  return {static_cast<char>(x >> 24), static_cast<char>(x >> 16), static_cast<char>(x >> 8),
          static_cast<char>(x)};
}

std::string gzip(const std::string& bytes) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

Images ramp(int64_t count, int64_t rows, int64_t cols) {
  Images images = {.count = count, .rows = rows, .cols = cols};
  images.pixels.resize(count * rows * cols);
  std::iota(images.pixels.begin(), images.pixels.end(), 0);
  return images;
}

TEST_F(Idx, WritesTheBytesOfTheFormat) {
  write_idx_images(file("images"), ramp(2, 1, 3));
  EXPECT_EQ(get("images"), u32(2051) + u32(2) + u32(1) + u32(3) + std::string("\0\1\2\3\4\5", 6));
  write_idx_labels(file("labels"), std::vector<uint8_t>{7, 2});
  EXPECT_EQ(get("labels"), u32(2049) + u32(2) + "\7\2");
}

TEST_F(Idx, ReadsBackWhatItWrote) {
  for (const std::string ending : {"", ".gz"}) {
    for (const int64_t count : {0, 1, 100, 5000}) {
      const LabeledImages set = {ramp(count, 28, 28), std::vector<uint8_t>(count, 3)};
      write_idx_images(file("images" + ending), set.images);
      write_idx_labels(file("labels" + ending), set.labels);
      EXPECT_EQ(read_idx(file("images" + ending), file("labels" + ending)), set);
    }
  }
  EXPECT_EQ(get("images.gz").substr(0, 2), "\x1f\x8b");
  EXPECT_LT(get("images.gz").size(), get("images").size());
}

TEST_F(Idx, SeesFromTheBytesWhetherAFileIsPacked) {
  const std::string labels = u32(2049) + u32(3) + "\1\2\3";
  EXPECT_THAT(read_idx_labels(put("packed", gzip(labels))), ElementsAre(1, 2, 3));
  EXPECT_THAT(read_idx_labels(put("plain.gz", labels)), ElementsAre(1, 2, 3));
  const std::string members = gzip(labels.substr(0, 9)) + gzip(labels.substr(9));
  EXPECT_THAT(read_idx_labels(put("members.gz", members)), ElementsAre(1, 2, 3));
}

TEST_F(Idx, AnImageIsAViewOfItsPixels) { EXPECT_THAT(ramp(3, 1, 2).image(1), ElementsAre(2, 3)); }

TEST_F(Idx, ReplacesAFileAndLeavesNoTemporary) {
  put("labels", "old");
  write_idx_labels(file("labels"), std::vector<uint8_t>{1});
  EXPECT_THAT(read_idx_labels(file("labels")), ElementsAre(1));
  EXPECT_THAT(names(), ElementsAre("labels"));
}

TEST_F(Idx, KeepsTheOldFileWhereTheNewOneIsRefused) {
  put("images", "old");
  Images images = ramp(2, 2, 2);
  images.pixels.pop_back();
  EXPECT_THAT([&] { write_idx_images(file("images"), images); },
              ThrowsMessage<Error>(file("images") + ": 2 images of 2 x 2 have 8 pixels, got 7"));
  EXPECT_THAT([&] { write_idx_images(file("images"), ramp(int64_t{1} << 32, 0, 1)); },
              ThrowsMessage<Error>(file("images") + ": the number of images must fit into 32 bits, "
                                                    "but is 4294967296"));
  EXPECT_THAT(
      [&] { write_idx_images(file("images"), ramp(1, 0, 1)); },
      ThrowsMessage<Error>(file("images") + ": expected images of one pixel or more, got 0 x 1"));
  EXPECT_EQ(get("images"), "old");
  EXPECT_THAT(names(), ElementsAre("images"));
}

TEST_F(Idx, RefusesToWriteWhereItCannot) {
  EXPECT_THAT(
      [&] { write_idx_labels(file("no/labels"), {}); },
      ThrowsMessage<Error>("cannot write " + file("no/labels") + ": No such file or directory"));
  fs::create_directory(dir_ / "labels");
  EXPECT_THAT([&] { write_idx_labels(file("labels"), {}); },
              ThrowsMessage<Error>("cannot write " + file("labels") + ": Is a directory"));
  EXPECT_THAT(names(), ElementsAre("labels"));
}

TEST_F(Idx, RefusesWhatIsNoFile) {
  try {
    read_idx_labels(file("labels"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNotFound);
    EXPECT_EQ(error.what(), file("labels") + ": no such file");
  }
  EXPECT_THAT([&] { read_idx_labels(dir_); },
              ThrowsMessage<Error>(dir_.string() + " is a directory, not a file"));
}

TEST_F(Idx, RefusesAnotherKindOfFile) {
  const std::string labels = put("labels", u32(2049) + u32(12) + "seven labels");
  EXPECT_THAT([&] { read_idx_images(labels); },
              ThrowsMessage<Error>(labels + ": byte 0: expected the number 2051 (IDX images), "
                                            "found 2049 (IDX labels)"));
  const std::string text = put("text", "<html>not found</html>");
  EXPECT_THAT([&] { read_idx_labels(text); },
              ThrowsMessage<Error>(text + ": byte 0: expected the number 2049 (IDX labels), "
                                          "found 1013478509"));
  const std::string flat = put("flat", u32(2051) + u32(5) + u32(28) + u32(0));
  EXPECT_THAT([&] { read_idx_images(flat); },
              ThrowsMessage<Error>(flat + ": byte 8: expected images of one pixel or more, "
                                          "found 28 x 0"));
}

TEST_F(Idx, RefusesFilesThatAreTooShortOrTooLong) {
  const std::string whole = u32(2051) + u32(2) + u32(1) + u32(2) + "abcd";
  for (size_t size = 0; size <= whole.size() + 1; ++size) {
    if (size == whole.size()) continue;
    const std::string bytes = (whole + "e").substr(0, size);
    const std::string plain = put("plain", bytes), packed = put("packed", gzip(bytes));
    const std::string expected =
        size < 16 ? fmt::format("expected a header of 16 bytes, found {}", size)
                  : fmt::format("expected 20 bytes for 2 images of 1 x 2, found ");
    const std::string found = size < 16 ? "" : fmt::format("{}", size);
    EXPECT_THAT([&] { read_idx_images(plain); },
                ThrowsMessage<Error>(plain + ": " + expected + found));
    EXPECT_THAT([&] { read_idx_images(packed); },
                ThrowsMessage<Error>(packed + ": " + expected + (size > 20 ? "more" : found)));
  }
}

TEST_F(Idx, RefusesPackedDataCutAnywhere) {
  const std::string packed = gzip(u32(2049) + u32(3) + "\1\2\3");
  for (size_t size = 2; size < packed.size(); ++size) {
    const std::string cut = put("cut", packed.substr(0, size));
    EXPECT_THROW(read_idx_labels(cut), Error) << size;
  }
  const std::string cut = put("cut", packed.substr(0, packed.size() - 1));
  EXPECT_THAT([&] { read_idx_labels(cut); },
              ThrowsMessage<Error>(fmt::format(
                  "{}: the gzip data is cut short after {} packed and 11 unpacked bytes", cut,
                  packed.size() - 1)));
}

TEST_F(Idx, RefusesPackedDataThatIsDamaged) {
  std::string packed = gzip(u32(2049) + u32(3) + "\1\2\3");
  packed[packed.size() - 8] ^= 1;  // the first byte of the checksum
  const std::string damaged = put("damaged", packed);
  EXPECT_THAT([&] { read_idx_labels(damaged); },
              ThrowsMessage<Error>(damaged + ": the gzip data is corrupt at byte 27: "
                                             "incorrect data check"));
}

// A flipped bit gives an error or, in a field of gzip's header that nobody needs, the same labels.
TEST_F(Idx, NoFlippedBitGivesOtherLabels) {
  const std::vector<uint8_t> labels = {3, 1, 4, 1, 5, 9, 2, 6};
  write_idx_labels(file("labels.gz"), labels);
  const std::string packed = get("labels.gz");
  for (size_t bit = 0; bit < packed.size() * 8; ++bit) {
    std::string flipped = packed;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    put("flipped", flipped);
    try {
      EXPECT_EQ(read_idx_labels(file("flipped")), labels) << "bit " << bit;
    } catch (const Error&) {
    }
  }
}

TEST_F(Idx, HostileSizesCostNoMemory) {
  const std::string header = u32(2051) + u32(~0u) + u32(~0u) + u32(~0u);
  const std::string plain = put("plain", header);
  EXPECT_THAT(
      [&] { read_idx_images(plain); },
      ThrowsMessage<Error>(plain + ": expected 79228162458924105385300197391 bytes for "
                                   "4294967295 images of 4294967295 x 4294967295, found 16"));
  const std::string packed = put("packed", gzip(u32(2049) + u32(1000000)));
  const uintmax_t size = fs::file_size(packed);
  EXPECT_THAT([&] { read_idx_labels(packed); },
              ThrowsMessage<Error>(
                  fmt::format("{}: expected 1000008 bytes for 1000000 labels, but {} packed "
                              "bytes hold at most {}",
                              packed, size, size * 1032)));
}

TEST_F(Idx, RefusesLabelsOfOtherImages) {
  write_idx_images(file("images"), ramp(3, 1, 1));
  write_idx_labels(file("labels"), std::vector<uint8_t>{1, 2});
  EXPECT_THAT([&] { read_idx(file("images"), file("labels")); },
              ThrowsMessage<Error>(file("images") + " holds 3 images, but " + file("labels") +
                                   " holds 2 labels"));
}

TEST_F(Idx, ReadsTheRealFiles) {
  const auto data = env::text("FLT_TEST_DATA");
  const fs::path mnist = fs::path(data.value_or("")) / "mnist";
  if (!data || !fs::exists(mnist)) GTEST_SKIP() << "FLT_TEST_DATA names no folder with MNIST";
  const LabeledImages set =
      read_idx(mnist / "t10k-images-idx3-ubyte.gz", mnist / "t10k-labels-idx1-ubyte.gz");
  EXPECT_EQ(set.images.rows, 28);
  EXPECT_EQ(set.images.cols, 28);
  EXPECT_THAT(set.labels, SizeIs(10000));
  EXPECT_THAT(set.labels, Each(Le(9)));
  EXPECT_THAT(std::span(set.labels).first(5), ElementsAre(7, 2, 1, 0, 4));
}

}  // namespace
}  // namespace flotilla::data
