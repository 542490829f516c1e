// flotilla/data/drawn_set.h
//
// Sets of grey images that Flotilla draws itself, in the shape and the four files of MNIST.
//
// Image i depends on (seed, split, i) alone: the same bits on every machine, and a smaller set is
// the beginning of a larger one.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "flotilla/data/idx.h"
#include "flotilla/data/split.h"

namespace flotilla::data {

inline constexpr int kDrawnSide = 28;  // pixels
inline constexpr int kDrawnPixels = kDrawnSide * kDrawnSide;

struct DrawnSetOptions {
  int64_t train = 60000;
  int64_t test = 10000;
  uint64_t seed = 1;
};

// Draws image `index` of a split and returns its label, 0 to 9.
using DrawImage = std::function<int(uint64_t seed, Split split, int64_t index,
                                    std::span<uint8_t, kDrawnPixels> pixels)>;

// The first `count` images of a split.
LabeledImages make_drawn(const DrawImage& draw, uint64_t seed, Split split, int64_t count);

// Writes MNIST's four files, train-images-idx3-ubyte.gz and so on, into `directory`, which is made
// if it is missing.
void write_drawn(const std::filesystem::path& directory, const DrawImage& draw,
                 const DrawnSetOptions& options);

}  // namespace flotilla::data
