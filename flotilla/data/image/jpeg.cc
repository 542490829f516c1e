// libjpeg reports errors by a function that must not return, so a long jump leaves it. Between the
// setjmp and the jump no object with a destructor is made: what must be freed lives in Decoder and
// Encoder, outside of the functions that are jumped out of.

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "flotilla/base/error.h"
#include "flotilla/data/image/color.h"
#include "flotilla/data/image/formats.h"

// They need <cstdio>, and the second the first.
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

namespace flotilla::data {
namespace {

struct Trap {
  jpeg_error_mgr base = {};  // first: libjpeg hands back a pointer to it
  std::jmp_buf back = {};
  std::array<char, JMSG_LENGTH_MAX> text = {};

  static Trap& of(j_common_ptr info) { return *reinterpret_cast<Trap*>(info->err); }
};

[[noreturn]] void leave(j_common_ptr info) {
  Trap& trap = Trap::of(info);
  (*info->err->format_message)(info, trap.text.data());
  std::longjmp(trap.back, 1);
}

// Whether decoding may go on after a warning: nothing of the picture is missing.
bool harmless(int code) {
  return code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM;
}

void on_message(j_common_ptr info, int level) {
  if (level < 0 && !harmless(info->err->msg_code)) leave(info);
}

void on_output(j_common_ptr) {}

void set_trap(Trap& trap) {
  jpeg_std_error(&trap.base);
  trap.base.error_exit = leave;
  trap.base.emit_message = on_message;
  trap.base.output_message = on_output;
}

// The whole file lies in memory: asking for more means that it ends too soon.
boolean at_end(j_decompress_ptr info) {
  ERREXIT(info, JERR_INPUT_EOF);
  return FALSE;
}

void skip(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  jpeg_source_mgr& source = *info->src;
  if (static_cast<size_t>(count) > source.bytes_in_buffer) {
    source.next_input_byte += source.bytes_in_buffer;
    source.bytes_in_buffer = 0;
    at_end(info);
  }
  source.next_input_byte += count;
  source.bytes_in_buffer -= count;
}

// Each scan goes over the whole picture again; real encoders write about ten.
constexpr int kMaxScans = 500;

void on_progress(j_common_ptr info) {
  const auto* decoder = reinterpret_cast<j_decompress_ptr>(info);
  if (decoder->input_scan_number > kMaxScans) ERREXIT4(info, JERR_BAD_PROGRESSION, 0, 0, 0, 0);
}

class Decoder {
 public:
  Decoder(std::span<const uint8_t> bytes, std::string_view name) : bytes_(bytes), name_(name) {
    set_trap(trap_);
    info_.err = &trap_.base;
    source_.init_source = [](j_decompress_ptr) {};
    source_.fill_input_buffer = at_end;
    source_.skip_input_data = skip;
    source_.resync_to_restart = jpeg_resync_to_restart;
    source_.term_source = [](j_decompress_ptr) {};
    source_.next_input_byte = bytes.data();
    source_.bytes_in_buffer = bytes.size();
    progress_.progress_monitor = on_progress;
  }
  ~Decoder() { jpeg_destroy_decompress(&info_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  const jpeg_decompress_struct& info() const { return info_; }

  void read_header() {
    if (!try_header()) fail("header");
  }

  // After read_header().
  void start(const DecodeOptions& options) {
    check(options);
    if (info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK) {
      info_.out_color_space = JCS_CMYK;
    } else if (options.channels == Channels::kRgb) {
      info_.out_color_space = JCS_RGB;
    }
    choose_scale(options);
    if (!try_start()) fail("picture");
  }

  // After start(). One row after the other.
  void read_rows(Image& image) {
    if (!try_rows(image.pixels.data(), image.width * image.channels)) fail("picture");
  }

  int orientation() const;

 private:
  bool try_header() {
    if (setjmp(trap_.back) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.src = &source_;
    info_.progress = &progress_;
    jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  bool try_start() {
    if (setjmp(trap_.back) != 0) return false;
    jpeg_start_decompress(&info_);
    return true;
  }

  bool try_rows(uint8_t* pixels, int64_t stride) {
    if (setjmp(trap_.back) != 0) return false;
    while (info_.output_scanline < info_.output_height) {
      std::array<JSAMPROW, 4> rows;
      for (size_t i = 0; i < rows.size(); ++i) {
        const int64_t y = std::min<int64_t>(info_.output_scanline + i, info_.output_height - 1);
        rows[i] = pixels + y * stride;
      }
      jpeg_read_scanlines(&info_, rows.data(), rows.size());
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  void check(const DecodeOptions& options) const {
    const int64_t height = info_.image_height, width = info_.image_width;
    formats::check_extents(name_, height, width, options.max_pixels);
    // A block of 8 x 8 pixels takes a bit at least, save with arithmetic coding.
    const int64_t most = static_cast<int64_t>(bytes_.size()) * 8 * 64 * 4;
    require(
        info_.arith_code || height * width <= most,
        "{}: the header promises {} x {} pixels, but the {} bytes of this JPEG hold at most {}; "
        "the file is cut short or corrupt",
        name_, height, width, bytes_.size(), most);
  }

  void choose_scale(const DecodeOptions& options) {
    if (options.at_least_height <= 0 || options.at_least_width <= 0) return;
    const bool turned = options.upright && orientation() >= 5;
    const int64_t high = turned ? options.at_least_width : options.at_least_height;
    const int64_t wide = turned ? options.at_least_height : options.at_least_width;
    unsigned denominator = 1;
    while (denominator < 8 && info_.image_height >= 2 * denominator * high &&
           info_.image_width >= 2 * denominator * wide) {
      denominator *= 2;
    }
    info_.scale_num = 1;
    info_.scale_denom = denominator;
  }

  [[noreturn]] void fail(std::string_view where) {
    const size_t byte = bytes_.size() - std::min(bytes_.size(), source_.bytes_in_buffer);
    if (trap_.base.msg_code == JERR_INPUT_EOF) {
      refuse("{}: the JPEG is cut short: its {} bytes end inside the {}", name_, bytes_.size(),
             where);
    }
    if (info_.input_scan_number > kMaxScans) {
      refuse("{}: the JPEG has more than {} scans, near byte {} of {}; no encoder writes so many",
             name_, kMaxScans, byte, bytes_.size());
    }
    refuse("{}: the JPEG is corrupt near byte {} of {}, in the {}: {}", name_, byte, bytes_.size(),
           where, trap_.text.data());
  }

  const std::span<const uint8_t> bytes_;
  const std::string name_;
  Trap trap_;
  jpeg_source_mgr source_ = {};
  jpeg_progress_mgr progress_ = {};
  jpeg_decompress_struct info_ = {};
};

// exif := "Exif\0\0" tiff
// tiff := ("II" | "MM") 42:u16 first:u32 ... at first: count:u16 entry*
// entry := tag:u16 type:u16 count:u32 value:u8[4]         tag 0x0112, type 3: the orientation
// 0: this is something else.
int orientation_of(std::span<const uint8_t> exif) {
  constexpr std::string_view kPrefix("Exif\0\0", 6);
  if (exif.size() < kPrefix.size() + 8) return 0;
  if (!std::equal(kPrefix.begin(), kPrefix.end(), exif.begin())) return 0;
  const std::span<const uint8_t> tiff = exif.subspan(kPrefix.size());
  const bool little = tiff[0] == 'I';
  const auto u16 = [&](size_t at) -> uint32_t {
    if (at + 2 > tiff.size()) return 0;
    return little ? tiff[at] | tiff[at + 1] << 8 : tiff[at] << 8 | tiff[at + 1];
  };
  const auto u32 = [&](size_t at) -> size_t {
    return little ? u16(at) | u16(at + 2) << 16 : u16(at) << 16 | u16(at + 2);
  };
  const size_t first = u32(4);
  for (uint32_t i = 0, count = u16(first); i < count; ++i) {
    const size_t entry = first + 2 + size_t{i} * 12;
    if (entry + 12 > tiff.size()) break;
    if (u16(entry) != 0x0112) continue;
    const uint32_t found = u16(entry + 8);
    return 1 <= found && found <= 8 ? static_cast<int>(found) : 1;
  }
  return 1;
}

int Decoder::orientation() const {
  for (auto marker = info_.marker_list; marker != nullptr; marker = marker->next) {
    const int found = orientation_of({marker->data, marker->data_length});
    if (found != 0) return found;
  }
  return 1;
}

// The channels of the decoded picture where CMYK has become three.
int64_t channels_of(const jpeg_decompress_struct& info) { return info.num_components == 1 ? 1 : 3; }

// Adobe's programs write the four inks inverted, and nobody else writes them.
Image from_inks(const Image& inks, bool inverted) {
  Image image(inks.height, inks.width, 3);
  const int64_t count = inks.height * inks.width;
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* in = inks.pixels.data() + i * 4;
    const int key = inverted ? in[3] : 255 - in[3];
    for (int c = 0; c < 3; ++c) {
      const int ink = inverted ? 255 - in[c] : in[c];
      const int product = ink * key + 128;
      image.pixels[i * 3 + c] =
          static_cast<uint8_t>(std::clamp(key - ((product >> 8) + product) / 256, 0, 255));
    }
  }
  return image;
}

class Encoder {
 public:
  Encoder() {
    set_trap(trap_);
    info_.err = &trap_.base;
  }
  ~Encoder() {
    jpeg_destroy_compress(&info_);
    std::free(bytes_);
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  std::vector<uint8_t> encode(const ImageView& image, int quality) {
    invariant(try_encode(image, quality), "libjpeg cannot write {} x {} pixels: {}", image.height,
              image.width, trap_.text.data());
    return {bytes_, bytes_ + size_};
  }

 private:
  bool try_encode(const ImageView& image, int quality) {
    if (setjmp(trap_.back) != 0) return false;
    jpeg_create_compress(&info_);
    jpeg_mem_dest(&info_, &bytes_, &size_);
    info_.image_height = static_cast<JDIMENSION>(image.height);
    info_.image_width = static_cast<JDIMENSION>(image.width);
    info_.input_components = static_cast<int>(image.channels);
    info_.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info_);
    jpeg_set_quality(&info_, quality, TRUE);
    jpeg_start_compress(&info_, TRUE);
    while (info_.next_scanline < info_.image_height) {
      JSAMPROW row = const_cast<uint8_t*>(image.row(info_.next_scanline));  // libjpeg only reads
      jpeg_write_scanlines(&info_, &row, 1);
    }
    jpeg_finish_compress(&info_);
    return true;
  }

  Trap trap_;
  jpeg_compress_struct info_ = {};
  unsigned char* bytes_ = nullptr;
  unsigned long size_ = 0;
};

}  // namespace

namespace formats {

bool is_jpeg(std::span<const uint8_t> bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

ImageInfo jpeg_info(std::span<const uint8_t> bytes, std::string_view name) {
  Decoder decoder(bytes, name);
  decoder.read_header();
  return {.format = "JPEG",
          .height = decoder.info().image_height,
          .width = decoder.info().image_width,
          .channels = channels_of(decoder.info()),
          .orientation = decoder.orientation()};
}

Image decode_jpeg(std::span<const uint8_t> bytes, std::string_view name,
                  const DecodeOptions& options, int& orientation) {
  Decoder decoder(bytes, name);
  decoder.read_header();
  orientation = decoder.orientation();
  decoder.start(options);
  const jpeg_decompress_struct& info = decoder.info();
  Image image(info.output_height, info.output_width, info.output_components);
  decoder.read_rows(image);
  if (info.out_color_space == JCS_CMYK) image = from_inks(image, info.saw_Adobe_marker);
  if (options.channels == Channels::kGrey && image.channels == 3) return to_grey(image.view());
  return image;
}

}  // namespace formats

std::vector<uint8_t> encode_jpeg(const ImageView& image, int quality) {
  require(image.channels == 1 || image.channels == 3,
          "a JPEG has 1 or 3 channels, but the image has {}", image.channels);
  require(1 <= quality && quality <= 100, "the quality of a JPEG must lie in [1, 100], but is {}",
          quality);
  require(0 < image.height && image.height <= JPEG_MAX_DIMENSION && 0 < image.width &&
              image.width <= JPEG_MAX_DIMENSION,
          "a JPEG has 1 to {} rows and columns, but the image is {} x {}", JPEG_MAX_DIMENSION,
          image.height, image.width);
  return Encoder().encode(image, quality);
}

}  // namespace flotilla::data
