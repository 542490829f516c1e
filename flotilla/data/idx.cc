// images := 0x00000803 count:u32 rows:u32 cols:u32 pixel:u8[count * rows * cols]     big endian
// labels := 0x00000801 count:u32 label:u8[count]
// file   := images | labels | gzip(images) | gzip(labels)
//
// 0x08 stands for u8; 3 and 1 are the numbers of axes, and an extent follows for each.

#include "flotilla/data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "flotilla/base/atomic_file.h"
#include "flotilla/base/error.h"
#include "flotilla/data/packed_file.h"

namespace flotilla::data {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kImagesMagic = 0x00000803;
constexpr uint32_t kLabelsMagic = 0x00000801;

// Three extents of 32 bits multiply to 96 bits at most.
using Extent = unsigned __int128;

// Positions and sizes are those of the unpacked bytes.
class Reader {
 public:
  explicit Reader(const fs::path& file) : file_(file) {}

  const std::string& name() const { return file_.name(); }

  // Reads a big-endian number of the header, whose length is `header`.
  uint32_t read_u32(size_t header) {
    std::array<uint8_t, 4> b = {};
    const bool whole = file_.read(b) == b.size();
    require(whole, "{}: expected a header of {} bytes, found {}", name(), header, file_.position());
    return uint32_t{b[0]} << 24 | uint32_t{b[1]} << 16 | uint32_t{b[2]} << 8 | b[3];
  }

  // Reads the `count` bytes that must be the rest of the file. `what` tells the user where the
  // number comes from.
  std::vector<uint8_t> read_rest(Extent count, const std::string& what) {
    const Extent expected = file_.position() + count;
    if (file_.packed()) {
      // What hostile headers promise costs nothing: deflate makes at most 258 bytes of two bits.
      const Extent most = Extent{file_.size()} * 1032;
      require(expected <= most, "{}: expected {} bytes for {}, but {} packed bytes hold at most {}",
              name(), expected, what, file_.size(), most);
    } else {
      require(expected == file_.size(), "{}: expected {} bytes for {}, found {}", name(), expected,
              what, file_.size());
    }
    std::vector<uint8_t> bytes;
    while (bytes.size() < count) {
      // A packed file may still hold less than it could, so memory grows with what was found.
      const size_t have = bytes.size(), chunk = std::max<size_t>(have, size_t{1} << 20);
      const size_t left = static_cast<size_t>(count) - have,
                   want = file_.packed() ? std::min(left, chunk) : left;
      bytes.resize(have + want);
      const size_t got = file_.read(std::span(bytes).subspan(have));
      require(got == want, "{}: expected {} bytes for {}, found {}", name(), expected, what,
              file_.position());
    }
    std::array<uint8_t, 1> more = {};
    require(file_.read(more) == 0, "{}: expected {} bytes for {}, found more", name(), expected,
            what);
    return bytes;
  }

 private:
  PackedFile file_;
};

std::string kind_of(uint32_t magic) {
  if (magic == kImagesMagic) return "2051 (IDX images)";
  if (magic == kLabelsMagic) return "2049 (IDX labels)";
  return std::to_string(magic);
}

void read_magic(Reader& reader, uint32_t expected, size_t header) {
  const uint32_t found = reader.read_u32(header);
  require(found == expected, "{}: byte 0: expected the number {}, found {}", reader.name(),
          kind_of(expected), kind_of(found));
}

// Writes a file, packed or plain.
class Writer {
 public:
  explicit Writer(const fs::path& file) : file_(file), packed_(file.extension() == ".gz") {
    if (!packed_) return;
    // zlib's usual level 6 takes three times as long and saves a fortieth. 16 asks for gzip's
    // header.
    const int code = deflateInit2(&stream_, 4, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
    invariant(code == Z_OK, "deflateInit2 failed with {}", code);
  }
  ~Writer() {
    if (packed_) deflateEnd(&stream_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void write_u32(uint32_t x) {
    const std::array<uint8_t, 4> bytes = {static_cast<uint8_t>(x >> 24),
                                          static_cast<uint8_t>(x >> 16),
                                          static_cast<uint8_t>(x >> 8), static_cast<uint8_t>(x)};
    write(bytes);
  }

  void write(std::span<const uint8_t> bytes) {
    if (!packed_) return file_.write(bytes);
    while (!bytes.empty()) {
      const size_t size = std::min(bytes.size(), size_t{1} << 30);  // zlib counts in 32 bits
      deflate_some(bytes.first(size), Z_NO_FLUSH);
      bytes = bytes.subspan(size);
    }
  }

  void commit() {
    if (packed_) deflate_some({}, Z_FINISH);
    file_.commit();
  }

 private:
  void deflate_some(std::span<const uint8_t> bytes, int flush) {
    stream_.next_in = const_cast<Bytef*>(bytes.data());  // zlib only reads
    stream_.avail_in = static_cast<uInt>(bytes.size());
    std::array<uint8_t, 1 << 16> packed;
    do {
      stream_.next_out = packed.data();
      stream_.avail_out = static_cast<uInt>(packed.size());
      const int code = deflate(&stream_, flush);
      invariant(code != Z_STREAM_ERROR, "deflate failed with {}", code);
      file_.write(std::span<const uint8_t>(packed).first(packed.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

  AtomicFile file_;
  const bool packed_;
  z_stream stream_ = {};
};

uint32_t extent(const fs::path& file, const char* what, int64_t n) {
  require(0 <= n && n <= std::numeric_limits<uint32_t>::max(),
          "{}: the number of {} must fit into 32 bits, but is {}", file.string(), what, n);
  return static_cast<uint32_t>(n);
}

}  // namespace

Images read_idx_images(const fs::path& file) {
  constexpr size_t kHeader = 16;
  Reader reader(file);
  read_magic(reader, kImagesMagic, kHeader);
  const uint32_t count = reader.read_u32(kHeader);
  const uint32_t rows = reader.read_u32(kHeader);
  const uint32_t cols = reader.read_u32(kHeader);
  require(rows > 0 && cols > 0, "{}: byte 8: expected images of one pixel or more, found {} x {}",
          reader.name(), rows, cols);
  return {.count = count,
          .rows = rows,
          .cols = cols,
          .pixels = reader.read_rest(Extent{count} * rows * cols,
                                     fmt::format("{} images of {} x {}", count, rows, cols))};
}

std::vector<uint8_t> read_idx_labels(const fs::path& file) {
  constexpr size_t kHeader = 8;
  Reader reader(file);
  read_magic(reader, kLabelsMagic, kHeader);
  const uint32_t count = reader.read_u32(kHeader);
  return reader.read_rest(count, fmt::format("{} labels", count));
}

LabeledImages read_idx(const fs::path& images, const fs::path& labels) {
  LabeledImages set = {.images = read_idx_images(images), .labels = read_idx_labels(labels)};
  require(set.images.count == static_cast<int64_t>(set.labels.size()),
          "{} holds {} images, but {} holds {} labels", images.string(), set.images.count,
          labels.string(), set.labels.size());
  return set;
}

void write_idx_images(const fs::path& file, const Images& images) {
  const uint32_t count = extent(file, "images", images.count);
  const uint32_t rows = extent(file, "rows", images.rows);
  const uint32_t cols = extent(file, "columns", images.cols);
  require(rows > 0 && cols > 0, "{}: expected images of one pixel or more, got {} x {}",
          file.string(), rows, cols);
  const Extent pixels = Extent{count} * rows * cols;
  require(images.pixels.size() == pixels, "{}: {} images of {} x {} have {} pixels, got {}",
          file.string(), count, rows, cols, pixels, images.pixels.size());
  Writer writer(file);
  for (const uint32_t x : {kImagesMagic, count, rows, cols}) writer.write_u32(x);
  writer.write(images.pixels);
  writer.commit();
}

void write_idx_labels(const fs::path& file, std::span<const uint8_t> labels) {
  const uint32_t count = extent(file, "labels", static_cast<int64_t>(labels.size()));
  Writer writer(file);
  for (const uint32_t x : {kLabelsMagic, count}) writer.write_u32(x);
  writer.write(labels);
  writer.commit();
}

}  // namespace flotilla::data
