// flotilla/device/cpu/onednn_testing.h
//
// What the tests of this folder share: numbers, layouts the slow way, and comparison.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>
#include <random>
#include <vector>

#include "flotilla/base/layout.h"
#include "flotilla/base/shape.h"
#include "flotilla/device/cpu/parallel.h"

namespace flotilla::onednn {

// Aligned as in an arena.
template <typename T>
struct Aligned {
  using value_type = T;
  T* allocate(size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* data, size_t) { ::operator delete(data, std::align_val_t{64}); }
  bool operator==(const Aligned&) const = default;
};

using Floats = std::vector<float, Aligned<float>>;

inline Floats uniform(int64_t count, uint32_t seed, float least = -1, float most = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> numbers(least, most);
  Floats values(static_cast<size_t>(count));
  for (float& value : values) value = numbers(engine);
  return values;
}

// Calls f(index, position in row-major order) for each element.
template <typename F>
void for_each_index(const Shape& shape, F&& f) {
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()), 0);
  for (int64_t position = 0; position < shape.numel(); ++position) {
    f(index, static_cast<size_t>(position));
    for (size_t a = index.size(); a-- > 0;) {
      if (++index[a] < shape[static_cast<int64_t>(a)]) break;
      index[a] = 0;
    }
  }
}

// Row-major values into `layout`, with zeros as padding, element by element.
inline Floats pack(const Shape& shape, const Layout& layout, const Floats& plain) {
  Floats packed(static_cast<size_t>(layout.physical_numel(shape)), 0.0f);
  for_each_index(shape, [&](const std::vector<int64_t>& index, size_t position) {
    packed[static_cast<size_t>(layout.offset(shape, index))] = plain[position];
  });
  return packed;
}

// And back; expects the padding to be zero.
inline Floats unpack(const Shape& shape, const Layout& layout, Floats packed) {
  Floats plain(static_cast<size_t>(shape.numel()));
  for_each_index(shape, [&](const std::vector<int64_t>& index, size_t position) {
    float& value = packed[static_cast<size_t>(layout.offset(shape, index))];
    plain[position] = std::exchange(value, 0.0f);
  });
  for (const float rest : packed) EXPECT_EQ(rest, 0.0f) << "padding of " << to_string(layout);
  return plain;
}

// An output in `layout` that nobody has written: every element must be.
inline Floats unwritten(const Shape& shape, const Layout& layout = {}) {
  return Floats(static_cast<size_t>(layout.physical_numel(shape)), NAN);
}

// Scratch memory with rubbish in it.
class Scratch {
 public:
  explicit Scratch(int64_t bytes) : words_(static_cast<size_t>(bytes) / 64 + 1) {
    for (Line& line : words_) std::fill_n(line.bytes, 64, static_cast<unsigned char>(0xff));
  }
  void* data() { return words_.data(); }

 private:
  struct alignas(64) Line {
    unsigned char bytes[64];
  };
  std::vector<Line> words_;
};

// `tolerance` is a share of the largest number, or of 1 where all are smaller.
inline void expect_near(const Floats& found, const Floats& expected, float tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  float largest = 1;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], tolerance * largest) << "at " << i;
  }
}

// Runs `f` with 1 and with 2 threads, twice each; the two results of the same number are equal to
// the bit. `f` makes its objects anew and returns a vector.
template <typename F>
void with_threads(F&& f) {
  const int before = threads();
  for (const int count : {1, 2}) {
    SCOPED_TRACE(count);
    set_threads(count);
    const Floats once = f();
    EXPECT_EQ(once, f()) << "two runs with the same number of threads differ";
  }
  set_threads(before);
}

}  // namespace flotilla::onednn
