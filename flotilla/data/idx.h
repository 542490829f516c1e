// flotilla/data/idx.h
//
// The IDX files in which MNIST comes: images and labels, plain or packed with gzip.

#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace flotilla::data {

// Grey images of one size, one after the other, row by row; 0 is black.
// Invariant: pixels.size() == count * rows * cols.
struct Images {
  int64_t count = 0;
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<uint8_t> pixels = {};

  int64_t size_of_image() const { return rows * cols; }
  std::span<const uint8_t> image(int64_t i) const {
    return std::span(pixels).subspan(i * size_of_image(), size_of_image());
  }

  bool operator==(const Images&) const = default;
};

// images.count == labels.size()
struct LabeledImages {
  Images images = {};
  std::vector<uint8_t> labels = {};

  bool operator==(const LabeledImages&) const = default;
};

// Read a whole file; whether it is packed is seen from its first bytes, not from its name. A file
// that is missing, cut short, too long, corrupt or of another kind is refused with its name, the
// byte, what was expected and what was found. Memory is taken only as far as the file can fill it,
// whatever its header says.
Images read_idx_images(const std::filesystem::path& file);
std::vector<uint8_t> read_idx_labels(const std::filesystem::path& file);

// Both files of a set. Refuses those of which one holds more than the other.
LabeledImages read_idx(const std::filesystem::path& images, const std::filesystem::path& labels);

// Write a file, packed if its name ends in ".gz". Other processes see the old file or the whole new
// one, never a part; see atomic_file.h.
void write_idx_images(const std::filesystem::path& file, const Images& images);
void write_idx_labels(const std::filesystem::path& file, std::span<const uint8_t> labels);

}  // namespace flotilla::data
