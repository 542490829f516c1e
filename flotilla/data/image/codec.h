// flotilla/data/image/codec.h
//
// JPEG and PNG files, read with libjpeg-turbo and libpng.
//
// Whatever the bytes hold, a file is decoded or refused with one sentence that has its name, the
// byte and the cause; memory is bounded by what the file's own bytes can fill and by
// DecodeOptions::max_pixels. A JPEG from which data is missing is refused, not filled with grey;
// bytes that decoders can step over, as between two segments, are stepped over.
//
// Thread safety: all functions, from any thread.

#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "flotilla/data/image/image.h"

namespace flotilla::data {

enum class Channels {
  kAsStored,  // palettes become colours, 16 bits 8, CMYK red, green and blue
  kGrey,
  kRgb,  // alpha is dropped, not blended
};

struct DecodeOptions {
  Channels channels = Channels::kAsStored;

  // Turns the picture as its EXIF note says; cameras that were held upright write one.
  bool upright = false;

  // A JPEG may be decoded at a half, a quarter or an eighth of its size, which costs less, as long
  // as it stays at least this high and this wide; 0: at its full size. The pixels are then means
  // of blocks: close to an antialiased resize, not equal to it.
  int64_t at_least_height = 0;
  int64_t at_least_width = 0;

  // What a header may promise.
  int64_t max_pixels = int64_t{1} << 27;
};

// What the header says, before EXIF turns it and before any scaling.
struct ImageInfo {
  std::string_view format = {};  // "JPEG" or "PNG"
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  int orientation = 1;  // EXIF's; from 5 on, height and width change places
};

// `name` stands in errors.
Image decode_image(std::span<const uint8_t> bytes, std::string_view name,
                   const DecodeOptions& options = {});
Image read_image(const std::filesystem::path& file, const DecodeOptions& options = {});
ImageInfo image_info(std::span<const uint8_t> bytes, std::string_view name);
// Reads the header alone.
ImageInfo read_image_info(const std::filesystem::path& file);

// 1 or 3 channels.
std::vector<uint8_t> encode_jpeg(const ImageView& image, int quality = 75);
// 1 to 4 channels; `level` is zlib's, 0 to 9.
std::vector<uint8_t> encode_png(const ImageView& image, int level = 6);

// By the end of the name: .jpg, .jpeg or .png. Other processes see the old file or the new one.
void write_image(const std::filesystem::path& file, const ImageView& image, int quality = 75);

}  // namespace flotilla::data
