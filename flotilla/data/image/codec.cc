#include "flotilla/data/image/codec.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <system_error>

#include "flotilla/base/atomic_file.h"
#include "flotilla/base/error.h"
#include "flotilla/base/regular_file.h"
#include "flotilla/data/image/formats.h"
#include "flotilla/data/image/geometry.h"

namespace flotilla::data {
namespace {

namespace fs = std::filesystem;

// For a file that is neither: what it is, as far as its first bytes tell.
std::string kind_of(std::span<const uint8_t> bytes) {
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()),
                              std::min<size_t>(bytes.size(), 12));
  if (head.empty()) return "the file is empty";
  if (head.starts_with("GIF8")) return "this is a GIF";
  if (head.starts_with("BM")) return "this is a BMP";
  if (head.starts_with("RIFF") && head.ends_with("WEBP")) return "this is a WebP";
  if (head.starts_with("II*") || head.starts_with("MM")) return "this is a TIFF";
  if (head.starts_with("<")) return "this is text, as a server sends instead of a missing image";
  std::string found = "found the bytes";
  for (size_t i = 0; i < std::min<size_t>(head.size(), 4); ++i) {
    found += fmt::format(" {:02x}", bytes[i]);
  }
  return found;
}

// At most `most` bytes.
std::vector<uint8_t> read_file(const fs::path& file, int64_t most) {
  const Fd from = open_regular_file(file);
  const auto reason = [] { return std::generic_category().message(errno); };
  struct stat status = {};
  require(fstat(from.get(), &status) == 0, "{}: cannot read: {}", file.string(), reason());
  std::vector<uint8_t> bytes(std::min<int64_t>(status.st_size, most));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(from.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    require(got >= 0, "{}: cannot read: {}", file.string(), reason());
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

// What EXIF's numbers ask for.
Image turn(Image image, int orientation) {
  if (orientation >= 5) image = transposed(image.view());
  if (orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7) {
    image = flip(image.view(), Axis::kHorizontal);
  }
  if (orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8) {
    image = flip(image.view(), Axis::kVertical);
  }
  return image;
}

}  // namespace

void formats::check_extents(std::string_view name, int64_t height, int64_t width,
                            int64_t max_pixels) {
  require(height > 0 && width > 0, "{}: the header promises {} x {} pixels; expected one or more",
          name, height, width);
  require(height <= max_pixels / width,
          "{}: the header promises {} x {} pixels, more than the {} that are allowed", name, height,
          width, max_pixels);
}

Image decode_image(std::span<const uint8_t> bytes, std::string_view name,
                   const DecodeOptions& options) {
  if (formats::is_jpeg(bytes)) {
    int orientation = 1;
    Image image = formats::decode_jpeg(bytes, name, options, orientation);
    return options.upright && orientation != 1 ? turn(std::move(image), orientation) : image;
  }
  require(formats::is_png(bytes), "{}: byte 0: expected a JPEG or a PNG, but {}", name,
          kind_of(bytes));
  return formats::decode_png(bytes, name, options);
}

Image read_image(const fs::path& file, const DecodeOptions& options) {
  return decode_image(read_file(file, std::numeric_limits<int64_t>::max()), file.string(), options);
}

ImageInfo image_info(std::span<const uint8_t> bytes, std::string_view name) {
  if (formats::is_jpeg(bytes)) return formats::jpeg_info(bytes, name);
  require(formats::is_png(bytes), "{}: byte 0: expected a JPEG or a PNG, but {}", name,
          kind_of(bytes));
  return formats::png_info(bytes, name);
}

ImageInfo read_image_info(const fs::path& file) {
  // Notes and thumbnails stand before a JPEG's extents; where they are long, the whole file is
  // read.
  for (const int64_t most : {int64_t{1} << 16, std::numeric_limits<int64_t>::max()}) {
    const std::vector<uint8_t> bytes = read_file(file, most);
    try {
      return image_info(bytes, file.string());
    } catch (const Error&) {
      if (static_cast<int64_t>(bytes.size()) < most) throw;
    }
  }
  invariant(false, "{}: neither read nor refused", file.string());
  return {};
}

void write_image(const fs::path& file, const ImageView& image, int quality) {
  std::string ending = file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool png = ending == ".png";
  require(png || ending == ".jpg" || ending == ".jpeg",
          "{}: images are written as .jpg, .jpeg or .png, not as \"{}\"", file.string(), ending);
  AtomicFile out(file);
  out.write(png ? encode_png(image) : encode_jpeg(image, quality));
  out.commit();
}

}  // namespace flotilla::data
