// Tensors of random numbers. Element n depends on the stream and n alone (base/random_stream.h), so
// a seed gives the same tensor on any number of threads, and a float64 tensor the numbers of the
// float32 one with more digits.

#pragma once

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/random.h"
#include "flotilla/ops/common/move.h"
#include "flotilla/ops/tensor/new_tensor.h"

namespace flotilla::ops {

// Calls f(block, four words) for each block of four elements; a thread gets at least 1024 blocks.
template <typename F>
void for_blocks(const RandomStream& stream, int64_t n, F&& f) {
  parallel_ranges((n + 3) / 4, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      f(block, stream.at(static_cast<uint64_t>(block)));
    }
  });
}

// Calls f(i, word i).
template <typename F>
void for_words(const RandomStream& stream, int64_t n, F f) {
  for_blocks(stream, n, [=](int64_t block, const std::array<uint32_t, 4>& words) {
    const int64_t first = block * 4;
    for (int64_t i = first; i < std::min(first + 4, n); ++i) {
      f(i, words[static_cast<size_t>(i - first)]);
    }
  });
}

// out[i] = f(word i)
template <typename T, typename F>
void generate(const RandomStream& stream, T* out, int64_t n, F f) {
  for_words(stream, n, [=](int64_t i, uint32_t word) { out[i] = f(word); });
}

// What no run repeats, unless the op has a seed of its own.
struct Draws {
  RandomSource source;
  bool repeats = false;
  uint64_t runs = 0;

  RandomStream next() { return source.draw(repeats ? 0 : runs++); }
};

// The number of the stream with this index, with all digits of a double.
inline double wide_number(const RandomStream& stream, int64_t index) {
  const std::array<uint32_t, 4> words = stream.at(static_cast<uint64_t>(index));
  return unit_number<double>(words[0]) + (words[1] - 0x1p31) * 0x1p-64;
}

inline const AttrSpec kSeed = {"seed", int32_t{0}, "0: the program's; otherwise every run repeats"};

inline const OpDef& define_random(const std::string& type, const std::string& doc,
                                  std::vector<Slot> inputs, std::vector<AttrSpec> attrs,
                                  void (*infer)(InferContext&), std::vector<Kernel> kernels) {
  return define_op({.type = type,
                    .doc = doc,
                    .inputs = std::move(inputs),
                    .outputs = {{.name = "Out", .doc = "the numbers"}},
                    .attrs = std::move(attrs),
                    .infer = infer,
                    .kernels = std::move(kernels),
                    .dtype_slot = "Out"});
}

// Numbers in the place of `x`, through which no gradient flows.
inline const OpDef& define_random_over(const std::string& type, const std::string& doc,
                                       const Slot& x, std::vector<AttrSpec> attrs,
                                       void (*infer)(InferContext&), std::vector<Kernel> kernels,
                                       GradRule grad = zero_gradient()) {
  return define_op(
      {.type = type,
       .doc = doc,
       .inputs = {x},
       .outputs = {{.name = x.name == "X" ? "Out" : "out", .doc = "the numbers", .like = x.name}},
       .attrs = std::move(attrs),
       .infer = infer,
       .grad = std::move(grad),
       .kernels = std::move(kernels)});
}

}  // namespace flotilla::ops
