#include "flotilla/data/image/passes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

#include "flotilla/data/image/vectors.h"

namespace flotilla::data::passes {
namespace {

// Vectors are passed only between functions that are inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

typedef uint8_t u8x8 __attribute__((vector_size(8)));
typedef int32_t i32x8 __attribute__((vector_size(32)));

// Taps with whole weights, for loops.
struct IntTaps {
  int64_t most = 0;
  const int32_t* start = nullptr;
  const int32_t* count = nullptr;
  std::vector<int32_t> weight = {};
};

// `bits` behind the point; half away from zero, or to even as OpenCV has it.
IntTaps to_ints(const Taps& taps, int bits, bool to_even) {
  IntTaps ints = {.most = taps.most,
                  .start = taps.start.data(),
                  .count = taps.count.data(),
                  .weight = std::vector<int32_t>(taps.weight.size())};
  const auto one = static_cast<double>(1 << bits);
  for (size_t i = 0; i < taps.weight.size(); ++i) {
    const double x = taps.weight[i] * one;
    ints.weight[i] = to_even ? static_cast<int32_t>(std::lrint(static_cast<float>(x)))
                             : static_cast<int32_t>(x + (x < 0 ? -0.5 : 0.5));
  }
  return ints;
}

// The rows of the source that any row of the result needs.
std::pair<int64_t, int64_t> rows_of(const Taps& down) {
  int64_t begin = down.start.empty() ? 0 : down.start.front(), end = begin;
  for (size_t i = 0; i < down.start.size(); ++i) {
    begin = std::min<int64_t>(begin, down.start[i]);
    end = std::max<int64_t>(end, down.start[i] + down.count[i]);
  }
  return {begin, end};
}

bool keeps(const Taps& taps, int64_t from) {
  const auto to = static_cast<int64_t>(taps.start.size());
  if (to != from) return false;
  for (int64_t i = 0; i < to; ++i) {
    for (int64_t k = 0; k < taps.count[i]; ++k) {
      const double expected = taps.start[i] + k == i ? 1 : 0;
      if (taps.weight[i * taps.most + k] != expected) return false;
    }
  }
  return true;
}

// Pixels of three or four channels of two rows at once: each fills four of eight lanes.
FLT_IMAGE_INLINE i32x8 load_two(const uint8_t* a, const uint8_t* b) {
  uint32_t low, high;
  std::memcpy(&low, a, 4);
  std::memcpy(&high, b, 4);
  const uint64_t both = uint64_t{high} << 32 | low;
  u8x8 bytes;
  std::memcpy(&bytes, &both, 8);
  return __builtin_convertvector(bytes, i32x8);
}

template <int kChannels>
FLT_IMAGE_INLINE i32x8 sum_two(const uint8_t* a, const uint8_t* b, const int32_t* weight, int count,
                               int start, int32_t first) {
  i32x8 sum = first + i32x8{};
  const int64_t at = int64_t{start} * kChannels;
  a += at;
  b += at;
  for (int k = 0; k < count; ++k) {
    sum += load_two(a, b) * weight[k];
    a += kChannels;
    b += kChannels;
  }
  return sum;
}

FLT_IMAGE_INLINE i32x8 to_bytes(i32x8 sum) {
  sum >>= 22;
  sum = sum < 0 ? i32x8{} : sum;
  const i32x8 most = 255 + i32x8{};
  return sum > most ? most : sum;
}

FLT_IMAGE_INLINE uint8_t to_byte(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> 22, 0, 255));
}

// Writes four lanes of a pixel, of which the fourth may be overwritten by the next one.
FLT_IMAGE_INLINE void store_two(uint8_t* a, uint8_t* b, i32x8 sum) {
  const u8x8 bytes = __builtin_convertvector(to_bytes(sum), u8x8);
  uint64_t both;
  std::memcpy(&both, &bytes, 8);
  const auto low = static_cast<uint32_t>(both), high = static_cast<uint32_t>(both >> 32);
  std::memcpy(a, &low, 4);
  std::memcpy(b, &high, 4);
}

FLT_IMAGE_INLINE void store_two(int32_t* a, int32_t* b, i32x8 sum) {
  std::memcpy(a, &sum, 16);
  std::memcpy(b, reinterpret_cast<const char*>(&sum) + 16, 16);
}

FLT_IMAGE_INLINE void store_one(uint8_t* a, int32_t sum) { *a = to_byte(sum); }
FLT_IMAGE_INLINE void store_one(int32_t* a, int32_t sum) { *a = sum; }

template <int kChannels, typename Out>
void across_two(const uint8_t* a, const uint8_t* b, const IntTaps& taps, int64_t width,
                int32_t first, Out* into_a, Out* into_b) {
  vectorized([=, &taps] {
    const int32_t* weight = taps.weight.data();
    for (int64_t x = 0; x < width; ++x) {
      const i32x8 sum = sum_two<kChannels>(a, b, weight, taps.count[x], taps.start[x], first);
      store_two(into_a + x * kChannels, into_b + x * kChannels, sum);
      weight += taps.most;
    }
  });
}

template <typename Out>
void across_one(const uint8_t* in, const IntTaps& taps, int64_t width, int64_t channels,
                int32_t first, Out* into) {
  for (int64_t x = 0; x < width; ++x) {
    const int32_t* weight = taps.weight.data() + x * taps.most;
    const uint8_t* from = in + taps.start[x] * channels;
    for (int64_t c = 0; c < channels; ++c) {
      int32_t sum = first;
      for (int k = 0; k < taps.count[x]; ++k) sum += from[k * channels + c] * weight[k];
      store_one(into++, sum);
    }
  }
}

// Vectors read and write a few elements past the end of a row.
constexpr int64_t kSlack = 16;

// Rows [begin, end) of the image, each made `width` wide. Out is uint8_t for sums that are rounded,
// int32_t for those that are not.
template <typename Out>
class Across {
 public:
  Across(const ImageView& image, const IntTaps& taps, int64_t width, int64_t begin, int64_t end,
         int32_t first)
      : begin_(begin),
        stride_(width * image.channels),
        values_(new Out[(end - begin) * stride_ + kSlack]) {
    const int64_t channels = image.channels;
    if (channels == 3 || channels == 4) {
      for (int64_t y = begin; y < end; y += 2) two_rows(image, taps, width, first, y, end);
    } else {
      for (int64_t y = begin; y < end; ++y) {
        across_one(image.row(y), taps, width, channels, first, row(y));
      }
    }
  }

  Out* row(int64_t y) { return values_.get() + (y - begin_) * stride_; }

 private:
  void two_rows(const ImageView& image, const IntTaps& taps, int64_t width, int32_t first,
                int64_t y, int64_t end) {
    const bool pair = y + 1 < end;
    const uint8_t* a = image.row(y);
    const uint8_t* b = pair ? image.row(y + 1) : a;
    if (y + 2 >= image.height) {
      // Behind the last row there may be nothing to read.
      last_.resize(2 * (image.width * image.channels + kSlack));
      uint8_t* copy_b = last_.data() + last_.size() / 2;
      std::memcpy(last_.data(), a, image.width * image.channels);
      std::memcpy(copy_b, b, image.width * image.channels);
      a = last_.data();
      b = copy_b;
    }
    // The row above is written after the one below, whose first pixel it touches; where there is no
    // row below, the slack takes its place.
    std::vector<Out>& spare = spare_;
    if (spare.empty()) spare.resize(2 * (stride_ + kSlack));
    Out* into_a = spare.data();
    Out* into_b = spare.data() + stride_ + kSlack;
    if (image.channels == 3) {
      across_two<3>(a, b, taps, width, first, into_a, into_b);
    } else {
      across_two<4>(a, b, taps, width, first, into_a, into_b);
    }
    std::memcpy(row(y), into_a, stride_ * sizeof(Out));
    if (pair) std::memcpy(row(y + 1), into_b, stride_ * sizeof(Out));
  }

  const int64_t begin_;
  const int64_t stride_;
  const std::unique_ptr<Out[]> values_;
  std::vector<uint8_t> last_;
  std::vector<Out> spare_;
};

// into[i] = sum over k of weight[k] * rows[k][i], rounded.
template <typename In>
void down_row(const In* const* rows, const int32_t* weight, int count, int64_t size,
              uint8_t* into) {
  vectorized([=] {
    constexpr int kStep = 32;
    int64_t i = 0;
    for (; i + kStep <= size; i += kStep) {
      int32_t sum[kStep];
      for (int j = 0; j < kStep; ++j) sum[j] = 1 << 21;
      for (int k = 0; k < count; ++k) {
        const In* row = rows[k] + i;
        const int32_t w = weight[k];
        for (int j = 0; j < kStep; ++j) sum[j] += row[j] * w;
      }
      for (int j = 0; j < kStep; ++j) into[i + j] = to_byte(sum[j]);
    }
    for (; i < size; ++i) {
      int32_t sum = 1 << 21;
      for (int k = 0; k < count; ++k) sum += rows[k][i] * weight[k];
      into[i] = to_byte(sum);
    }
  });
}

// OpenCV's rounding between two rows, which drops bits before it adds.
void down_two(const int32_t* a, const int32_t* b, int32_t wa, int32_t wb, int64_t size,
              uint8_t* into) {
  vectorized([=] {
    for (int64_t i = 0; i < size; ++i) {
      const int32_t sum = ((wa * (a[i] >> 4)) >> 16) + ((wb * (b[i] >> 4)) >> 16) + 2;
      into[i] = static_cast<uint8_t>(sum >> 2);
    }
  });
}

template <typename T>
using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T>
FLT_IMAGE_INLINE T from_sum(Sum<T> sum) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return static_cast<uint8_t>(std::clamp(std::nearbyint(sum), 0.f, 255.f));
  } else {
    return sum;
  }
}

}  // namespace

Image antialias(const ImageView& image, const Taps& down, const Taps& across) {
  const auto height = static_cast<int64_t>(down.start.size());
  const auto width = static_cast<int64_t>(across.start.size());
  const auto [begin, end] = rows_of(down);
  const IntTaps rows = to_ints(down, 22, false), cols = to_ints(across, 22, false);
  Image out(height, width, image.channels);
  std::unique_ptr<Across<uint8_t>> made;
  if (!keeps(across, image.width)) {
    made = std::make_unique<Across<uint8_t>>(image, cols, width, begin, end, 1 << 21);
  }
  std::vector<const uint8_t*> from(down.most);
  for (int64_t y = 0; y < height; ++y) {
    for (int k = 0; k < rows.count[y]; ++k) {
      from[k] = made ? made->row(rows.start[y] + k) : image.row(rows.start[y] + k);
    }
    down_row(from.data(), rows.weight.data() + y * rows.most, rows.count[y], width * image.channels,
             out.row(y));
  }
  return out;
}

Image interpolate(const ImageView& image, const Taps& down, const Taps& across) {
  const auto height = static_cast<int64_t>(down.start.size());
  const auto width = static_cast<int64_t>(across.start.size());
  const auto [begin, end] = rows_of(down);
  const IntTaps rows = to_ints(down, 11, true), cols = to_ints(across, 11, true);
  Image out(height, width, image.channels);
  Across<int32_t> made(image, cols, width, begin, end, 0);
  std::vector<const int32_t*> from(down.most);
  const int64_t size = width * image.channels;
  for (int64_t y = 0; y < height; ++y) {
    const int count = rows.count[y];
    const int32_t* weight = rows.weight.data() + y * rows.most;
    for (int k = 0; k < count; ++k) from[k] = made.row(rows.start[y] + k);
    if (rows.most == 2) {
      const bool pair = count == 2;
      down_two(from[0], pair ? from[1] : from[0], weight[0], weight[1], size, out.row(y));
    } else {
      down_row(from.data(), weight, count, size, out.row(y));
    }
  }
  return out;
}

template <typename T>
Pixels<T> in_floats(const View<T>& image, const Taps& down, const Taps& across) {
  using S = Sum<T>;
  const auto height = static_cast<int64_t>(down.start.size());
  const auto width = static_cast<int64_t>(across.start.size());
  const int64_t channels = image.channels, size = width * channels;
  const auto [begin, end] = rows_of(down);
  std::vector<S> made((end - begin) * size);
  for (int64_t y = begin; y < end; ++y) {
    S* into = made.data() + (y - begin) * size;
    for (int64_t x = 0; x < width; ++x) {
      const double* weight = across.weight.data() + x * across.most;
      const T* from = image.row(y) + across.start[x] * channels;
      for (int64_t c = 0; c < channels; ++c) {
        S sum = 0;
        for (int k = 0; k < across.count[x]; ++k) {
          sum += static_cast<S>(from[k * channels + c]) * static_cast<S>(weight[k]);
        }
        *into++ = sum;
      }
    }
  }
  Pixels<T> out(height, width, channels);
  std::vector<S> sums(size);
  for (int64_t y = 0; y < height; ++y) {
    std::fill(sums.begin(), sums.end(), S{0});
    for (int k = 0; k < down.count[y]; ++k) {
      const double* weights = down.weight.data() + y * down.most;
      const bool last = k + 1 == down.count[y];
      const auto weight = static_cast<S>(
          last ? std::accumulate(weights + k, weights + down.most, 0.0) : weights[k]);
      const S* from = made.data() + (down.start[y] + k - begin) * size;
      for (int64_t i = 0; i < size; ++i) sums[i] += from[i] * weight;
    }
    for (int64_t i = 0; i < size; ++i) out.row(y)[i] = from_sum<T>(sums[i]);
  }
  return out;
}

template Image in_floats(const ImageView&, const Taps&, const Taps&);
template Pixels<float> in_floats(const View<float>&, const Taps&, const Taps&);
template Pixels<double> in_floats(const View<double>&, const Taps&, const Taps&);

}  // namespace flotilla::data::passes
