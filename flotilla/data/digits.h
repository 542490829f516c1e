// flotilla/data/digits.h
//
// Digits that Flotilla draws itself, in MNIST's shape and files, for machines without MNIST.
//
// A digit is one of a few styles (digit_strokes.h), its knots moved a little, bent, slanted,
// turned, scaled and shifted, drawn with a pen of random width and pressure, and sprinkled with
// noise. The classes overlap as in handwriting: softmax regression stays under 95 % on the test
// images, an MLP 784-128-128-10 passes 97.5 % within five epochs.

#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "flotilla/data/drawn_set.h"

namespace flotilla::data {

inline constexpr int kDigitSide = kDrawnSide;
inline constexpr int kDigitPixels = kDrawnPixels;

// Grows when the same seed gives other images than before.
inline constexpr int kDigitsVersion = 1;

using DigitsOptions = DrawnSetOptions;

// Draws image `index` of a split and returns its label, 0 to 9, each equally likely.
int draw_digit(uint64_t seed, Split split, int64_t index, std::span<uint8_t, kDigitPixels> pixels);

// The first `count` images of a split. Takes about 10 us an image.
LabeledImages make_digits(uint64_t seed, Split split, int64_t count);

// Writes MNIST's four files into `directory`; see drawn_set.h.
void write_digits(const std::filesystem::path& directory, const DigitsOptions& options = {});

}  // namespace flotilla::data
