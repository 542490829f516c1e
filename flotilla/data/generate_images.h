// flotilla/data/generate_images.h
//
// Colour images that Flotilla paints itself, for machines without the real sets.
//
// Flowers stand for Oxford's 102 flowers: 17 colours of petals times 6 numbers of petals. Shapes
// stand for CIFAR's small images: 10 kinds of shape (CIFAR-10's label) times 10 colours (together
// CIFAR-100's label); an MLP 3072-256-128-10 knows 85 % of the kinds after five epochs of 5,000.
// Place, size, turn, shade, background and noise vary from image to image.
//
// Image i depends on (seed, split, i) alone: the same bits on every machine.

#pragma once

#include <cstdint>
#include <span>

#include "flotilla/data/split.h"

namespace flotilla::data {

inline constexpr int kFlowerClasses = 102;
inline constexpr int kFlowerSide = 256;  // pixels
inline constexpr int kFlowerBytes = kFlowerSide * kFlowerSide * 3;

// Paints a flower of the class `label` as rows of RGB.
// REQUIRES: 0 <= label < kFlowerClasses
void draw_flower(uint64_t seed, int64_t index, int label, std::span<uint8_t, kFlowerBytes> rgb);

inline constexpr int kShapeClasses = 100;  // label / 10 is the kind, label % 10 the colour
inline constexpr int kShapeSide = 32;
inline constexpr int kShapeBytes = kShapeSide * kShapeSide * 3;

// Paints a shape as three planes, red, green and blue, and returns its label, each equally likely.
int draw_shape(uint64_t seed, Split split, int64_t index, std::span<uint8_t, kShapeBytes> planes);

}  // namespace flotilla::data
