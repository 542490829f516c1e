// tests/fuzz/image_fuzz.cc
//
// Bytes that claim to be a JPEG or a PNG: decoded or refused, within the memory that is allowed.
// The header's size is the picture's, and what was decoded can be resized and written again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "flotilla/base/error.h"
#include "flotilla/data/image/codec.h"
#include "flotilla/data/image/resize.h"

namespace {

void check(bool ok) {
  if (!ok) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace flotilla;
  using namespace flotilla::data;
  const std::span<const uint8_t> bytes(data, size);
  DecodeOptions options = {.upright = size % 2 == 1, .max_pixels = 1 << 18};
  options.channels = static_cast<Channels>(size % 3);
  if (size % 5 == 0) options.at_least_height = options.at_least_width = 8;
  try {
    const Image image = decode_image(bytes, "input", options);
    check(static_cast<int64_t>(image.pixels.size()) == image.view().size());
    const ImageInfo info = image_info(bytes, "input");
    const bool whole = options.at_least_height == 0;
    if (whole) check(info.height * info.width == image.height * image.width);
    const Image small = resize(image.view(), 5, 7, Interpolation::kBilinear, Style::kPil);
    check(decode_image(encode_png(small.view(), 1), "again") == small);
  } catch (const Error&) {
  }
  return 0;
}
