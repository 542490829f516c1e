// flotilla/data/image/color.h
//
// What happens to the colours of a pixel, wherever it stands.

#pragma once

#include "flotilla/data/image/image.h"
#include "flotilla/data/image/resize.h"

namespace flotilla::data {

// 0.299 red + 0.587 green + 0.114 blue, rounded as PIL does (kPil, 16 bits) or OpenCV (kCv2, 15).
// REQUIRES: 3 or 4 channels; the fourth is dropped
Image to_grey(const ImageView& image, Style style = Style::kPil);

// Grey in all three channels, or without alpha.
Image to_rgb(const ImageView& image);

// Each value through a table of 256.
Image look_up(const ImageView& image, std::span<const uint8_t, 256> table);

// factor * image + (1 - factor) * other, cut to [0, 255]: PIL's blend, in single precision.
// `other` is one value for all, or a grey image of the same size.
Image blend(const ImageView& image, uint8_t other, double factor);
Image blend(const ImageView& image, const ImageView& grey, double factor);

// factor * image + (1 - factor) * grey, where grey is made as if blue came first: what Paddle asks
// OpenCV for.
// REQUIRES: 3 channels
Image saturate(const ImageView& image, float factor);

// The mean of a grey image, rounded as PIL rounds it for contrast.
int grey_mean(const ImageView& grey);

// Adds shift / 256 turns to the hue of each pixel, with PIL's (kPil) or OpenCV's (kCv2, blue
// first) arithmetic on hue, saturation and value of 8 bits each.
// REQUIRES: 3 channels
Image shift_hue(const ImageView& image, int shift, Style style);

}  // namespace flotilla::data
