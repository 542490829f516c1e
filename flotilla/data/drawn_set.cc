#include "flotilla/data/drawn_set.h"

#include <string>
#include <system_error>

#include "flotilla/base/error.h"

namespace flotilla::data {

LabeledImages make_drawn(const DrawImage& draw, uint64_t seed, Split split, int64_t count) {
  require(count >= 0, "the number of images must not be negative, but is {}", count);
  LabeledImages made = {.images = {.count = count, .rows = kDrawnSide, .cols = kDrawnSide}};
  made.images.pixels.resize(count * kDrawnPixels);
  made.labels.resize(count);
  for (int64_t i = 0; i < count; ++i) {
    const std::span<uint8_t, kDrawnPixels> pixels(&made.images.pixels[i * kDrawnPixels],
                                                  kDrawnPixels);
    made.labels[i] = static_cast<uint8_t>(draw(seed, split, i, pixels));
  }
  return made;
}

void write_drawn(const std::filesystem::path& directory, const DrawImage& draw,
                 const DrawnSetOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  require(!error, "cannot create the directory {}: {}", directory.string(), error.message());
  const auto write = [&](const std::string& name, Split split, int64_t count) {
    const LabeledImages made = make_drawn(draw, options.seed, split, count);
    write_idx_images(directory / (name + "-images-idx3-ubyte.gz"), made.images);
    write_idx_labels(directory / (name + "-labels-idx1-ubyte.gz"), made.labels);
  };
  write("train", Split::kTrain, options.train);
  write("t10k", Split::kTest, options.test);
}

}  // namespace flotilla::data
