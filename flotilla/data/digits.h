// flotilla/data/digits.h
//
// Digits that Flotilla draws itself, in MNIST's shape and files, for machines without MNIST.
//
// A digit is one of a few styles (digit_strokes.h), its knots moved a little, bent, slanted,
// turned, scaled and shifted, drawn with a pen of random width and pressure, and sprinkled with
// noise. The classes overlap as in handwriting: softmax regression stays under 95 % on the test
// images, an MLP 784-128-128-10 passes 97.5 % within five epochs.
//
// Image i depends on (seed, split, i) alone: the same bits on every machine, and a smaller set is
// the beginning of a larger one.

#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "flotilla/data/idx.h"
#include "flotilla/data/split.h"

namespace flotilla::data {

inline constexpr int kDigitSide = 28;  // pixels
inline constexpr int kDigitPixels = kDigitSide * kDigitSide;

// Grows when the same seed gives other images than before.
inline constexpr int kDigitsVersion = 1;

struct DigitsOptions {
  int64_t train = 60000;
  int64_t test = 10000;
  uint64_t seed = 1;
};

// Draws image `index` of a split and returns its label, 0 to 9, each equally likely.
int draw_digit(uint64_t seed, Split split, int64_t index, std::span<uint8_t, kDigitPixels> pixels);

// The first `count` images of a split. Takes about 10 us an image.
LabeledImages make_digits(uint64_t seed, Split split, int64_t count);

// Writes MNIST's four files, train-images-idx3-ubyte.gz and so on, into `directory`, which is made
// if it is missing.
void write_digits(const std::filesystem::path& directory, const DigitsOptions& options = {});

}  // namespace flotilla::data
