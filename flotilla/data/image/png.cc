// libpng, like libjpeg, leaves by a long jump: see jpeg.cc.

#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <string>

#include "flotilla/base/error.h"
#include "flotilla/data/image/color.h"
#include "flotilla/data/image/formats.h"

namespace flotilla::data {
namespace {

struct Trap {
  std::array<char, 200> text = {};
  bool cut_short = false;
};

[[noreturn]] void on_error(png_structp png, png_const_charp text) {
  auto& trap = *static_cast<Trap*>(png_get_error_ptr(png));
  std::strncpy(trap.text.data(), text, trap.text.size() - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

struct Source {
  std::span<const uint8_t> bytes = {};
  size_t position = 0;
};

void read_bytes(png_structp png, png_bytep into, size_t count) {
  auto& source = *static_cast<Source*>(png_get_io_ptr(png));
  if (source.bytes.size() - source.position < count) {
    static_cast<Trap*>(png_get_error_ptr(png))->cut_short = true;
    png_error(png, "the file ends too soon");
  }
  std::memcpy(into, source.bytes.data() + source.position, count);
  source.position += count;
}

class Decoder {
 public:
  Decoder(std::span<const uint8_t> bytes, std::string_view name) : source_{bytes, 0}, name_(name) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &trap_, on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) png_destroy_read_struct(&png_, nullptr, nullptr);
    invariant(png_ != nullptr, "libpng {} cannot start", PNG_LIBPNG_VER_STRING);
  }
  ~Decoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  void read_header() {
    if (!try_header()) fail("header");
  }

  int64_t height() { return png_get_image_height(png_, info_); }
  int64_t width() { return png_get_image_width(png_, info_); }
  int64_t channels() {
    const int type = png_get_color_type(png_, info_);
    const bool alpha =
        (type & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    return ((type & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1) + (alpha ? 1 : 0);
  }

  void check(const DecodeOptions& options) {
    formats::check_extents(name_, height(), width(), options.max_pixels);
    // Deflate makes at most 258 bytes of two bits.
    const auto most = static_cast<int64_t>(source_.bytes.size()) * 1032;
    const int64_t promised = static_cast<int64_t>(png_get_rowbytes(png_, info_)) * height();
    require(promised <= most,
            "{}: the header promises {} x {} pixels, but the {} bytes of this PNG hold at most {} "
            "bytes of them; the file is cut short or corrupt",
            name_, height(), width(), source_.bytes.size(), most);
  }

  // After read_header().
  Image read(bool drop_alpha) {
    if (!try_start(drop_alpha)) fail("header");
    Image image(height(), width(), png_get_channels(png_, info_));
    std::vector<uint8_t*> rows(image.height);
    for (int64_t y = 0; y < image.height; ++y) rows[y] = image.row(y);
    if (!try_rows(rows.data())) fail("picture");
    return image;
  }

 private:
  bool try_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, &source_, read_bytes);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // check() has its own
    png_set_chunk_malloc_max(png_, 8 << 20);
    png_set_chunk_cache_max(png_, 100);
    png_read_info(png_, info_);
    return true;
  }

  // Eight bits for each channel, palettes as colours.
  bool try_start(bool drop_alpha) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_expand(png_);
    png_set_strip_16(png_);
    if (drop_alpha) png_set_strip_alpha(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  bool try_rows(uint8_t** rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

  [[noreturn]] void fail(std::string_view where) {
    const size_t size = source_.bytes.size();
    if (trap_.cut_short) {
      refuse("{}: the PNG is cut short: its {} bytes end inside the {}", name_, size, where);
    }
    refuse("{}: the PNG is corrupt near byte {} of {}, in the {}: {}", name_, source_.position,
           size, where, trap_.text.data());
  }

  Source source_;
  const std::string name_;
  Trap trap_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

class Encoder {
 public:
  Encoder() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &trap_, on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) png_destroy_write_struct(&png_, nullptr);
    invariant(png_ != nullptr, "libpng {} cannot start", PNG_LIBPNG_VER_STRING);
  }
  ~Encoder() { png_destroy_write_struct(&png_, &info_); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  std::vector<uint8_t> encode(const ImageView& image, int level) {
    invariant(try_encode(image, level), "libpng cannot write {} x {} pixels: {}", image.height,
              image.width, trap_.text.data());
    return std::move(bytes_);
  }

 private:
  bool try_encode(const ImageView& image, int level) {
    static constexpr std::array<int, 4> kTypes = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                                  PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGBA};
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_write_fn(
        png_, &bytes_,
        [](png_structp png, png_bytep from, size_t count) {
          auto& bytes = *static_cast<std::vector<uint8_t>*>(png_get_io_ptr(png));
          bytes.insert(bytes.end(), from, from + count);
        },
        [](png_structp) {});
    png_set_compression_level(png_, level);
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(image.width),
                 static_cast<png_uint_32>(image.height), 8, kTypes[image.channels - 1],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, info_);
    for (int64_t y = 0; y < image.height; ++y) png_write_row(png_, image.row(y));
    png_write_end(png_, nullptr);
    return true;
  }

  Trap trap_;
  std::vector<uint8_t> bytes_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

namespace formats {

bool is_png(std::span<const uint8_t> bytes) {
  static constexpr std::array<uint8_t, 8> kMagic = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  return bytes.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), bytes.begin());
}

ImageInfo png_info(std::span<const uint8_t> bytes, std::string_view name) {
  Decoder decoder(bytes, name);
  decoder.read_header();
  return {.format = "PNG",
          .height = decoder.height(),
          .width = decoder.width(),
          .channels = decoder.channels()};
}

Image decode_png(std::span<const uint8_t> bytes, std::string_view name,
                 const DecodeOptions& options) {
  Decoder decoder(bytes, name);
  decoder.read_header();
  decoder.check(options);
  const Image image = decoder.read(options.channels != Channels::kAsStored);
  if (options.channels == Channels::kGrey && image.channels == 3) return to_grey(image.view());
  if (options.channels == Channels::kRgb && image.channels == 1) return to_rgb(image.view());
  return image;
}

}  // namespace formats

std::vector<uint8_t> encode_png(const ImageView& image, int level) {
  require(1 <= image.channels && image.channels <= 4,
          "a PNG has 1 to 4 channels, but the image has {}", image.channels);
  require(0 <= level && level <= 9, "the compression level of a PNG must lie in [0, 9], but is {}",
          level);
  require(
      0 < image.height && image.height <= 1'000'000 && 0 < image.width && image.width <= 1'000'000,
      "a PNG has 1 to 1000000 rows and columns here, but the image is {} x {}", image.height,
      image.width);
  return Encoder().encode(image, level);
}

}  // namespace flotilla::data
