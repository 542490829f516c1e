// flotilla/data/image/formats.h
//
// What codec.cc knows of each format.

#pragma once

#include "flotilla/data/image/codec.h"

namespace flotilla::data::formats {

// Refuses an image of no pixels, and one of more than options.max_pixels.
void check_extents(std::string_view name, int64_t height, int64_t width, int64_t max_pixels);

bool is_jpeg(std::span<const uint8_t> bytes);
ImageInfo jpeg_info(std::span<const uint8_t> bytes, std::string_view name);
// `orientation` becomes EXIF's number, 1 to 8; 1 where there is none.
Image decode_jpeg(std::span<const uint8_t> bytes, std::string_view name,
                  const DecodeOptions& options, int& orientation);

bool is_png(std::span<const uint8_t> bytes);
ImageInfo png_info(std::span<const uint8_t> bytes, std::string_view name);
Image decode_png(std::span<const uint8_t> bytes, std::string_view name,
                 const DecodeOptions& options);

}  // namespace flotilla::data::formats
