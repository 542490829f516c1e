#include "flotilla/data/image/passes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

#include "flotilla/data/image/vectors.h"

#if defined(__x86_64__) && !defined(__clang__)
#include <immintrin.h>
#define FLT_IMAGE_AVX2
#endif

namespace flotilla::data::passes {
namespace {

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

FLT_IMAGE_INLINE uint8_t to_byte(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> 22, 0, 255));
}

FLT_IMAGE_INLINE void store_one(uint8_t* a, int32_t sum) { *a = to_byte(sum); }
FLT_IMAGE_INLINE void store_one(int32_t* a, int32_t sum) { *a = sum; }

#ifdef FLT_IMAGE_AVX2

// Bytes 3k, 3k + 1, 3k + 2 (or 4k to 4k + 3) of each half, as numbers of 32 bits.
template <int kChannels>
struct TapMasks {
  static constexpr int kTaps = 16 / kChannels;
  alignas(32) int8_t bytes[kTaps][32] = {};

  constexpr TapMasks() {
    for (int k = 0; k < kTaps; ++k) {
      for (int i = 0; i < 32; ++i) {
        const int lane = i % 16;
        const bool used = lane % 4 == 0 && lane / 4 < kChannels;
        bytes[k][i] = static_cast<int8_t>(used ? k * kChannels + lane / 4 : -1);
      }
    }
  }
};

template <int kChannels>
constexpr TapMasks<kChannels> kMasks;

[[gnu::target("avx2")]] inline void store_two(uint8_t* a, uint8_t* b, __m256i sum) {
  const __m256i words = _mm256_packs_epi32(_mm256_srai_epi32(sum, 22), _mm256_setzero_si256());
  const __m256i bytes = _mm256_packus_epi16(words, words);
  const int low = _mm256_extract_epi32(bytes, 0), high = _mm256_extract_epi32(bytes, 4);
  std::memcpy(a, &low, 4);
  std::memcpy(b, &high, 4);
}

[[gnu::target("avx2")]] inline void store_two(int32_t* a, int32_t* b, __m256i sum) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(a), _mm256_castsi256_si128(sum));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(b), _mm256_extracti128_si256(sum, 1));
}

// Vectors read and write a few elements past the end of a row.
constexpr int64_t kSlack = 16;

// Two rows at once: a pixel of each fills one half of a vector. Reads up to 16 bytes past the rows
// and writes up to one element past them.
template <int kChannels, typename Out>
[[gnu::target("avx2")]] void across_two(const uint8_t* a, const uint8_t* b, const IntTaps& taps,
                                        int64_t width, int32_t first, Out* into_a, Out* into_b) {
  constexpr int kTaps = TapMasks<kChannels>::kTaps;
  const int32_t* weight = taps.weight.data();
  for (int64_t x = 0; x < width; ++x, weight += taps.most) {
    __m256i sum = _mm256_set1_epi32(first);
    const int count = taps.count[x];
    for (int k = 0; k < count; k += kTaps) {
      const int64_t at = (int64_t{taps.start[x]} + k) * kChannels;
      const __m256i bytes = _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(b + at),
                                                reinterpret_cast<const __m128i*>(a + at));
      const int end = std::min(kTaps, count - k);
      for (int i = 0; i < end; ++i) {
        const __m256i mask =
            _mm256_load_si256(reinterpret_cast<const __m256i*>(kMasks<kChannels>.bytes[i]));
        const __m256i pixels = _mm256_shuffle_epi8(bytes, mask);
        sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(pixels, _mm256_set1_epi32(weight[k + i])));
      }
    }
    store_two(into_a + x * kChannels, into_b + x * kChannels, sum);
  }
}

#endif

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

// Rows [begin, end) of the image, each made `width` wide. Out is uint8_t for sums that are rounded,
// int32_t for those that are not.
template <typename Out>
class Across {
 public:
  Across(const ImageView& image, const IntTaps& taps, int64_t width, int64_t begin, int64_t end,
         int32_t first)
      : begin_(begin), stride_(width * image.channels), values_(new Out[(end - begin) * stride_]) {
    const int64_t channels = image.channels;
#ifdef FLT_IMAGE_AVX2
    if ((channels == 3 || channels == 4) && vectors_detail::have_avx2()) {
      spare_.resize(2 * (stride_ + kSlack));
      for (int64_t y = begin; y < end; y += 2) two_rows(image, taps, width, first, y, end);
      return;
    }
#endif
    for (int64_t y = begin; y < end; ++y) {
      across_one(image.row(y), taps, width, channels, first, row(y));
    }
  }

  Out* row(int64_t y) { return values_.get() + (y - begin_) * stride_; }

 private:
#ifdef FLT_IMAGE_AVX2
  void two_rows(const ImageView& image, const IntTaps& taps, int64_t width, int32_t first,
                int64_t y, int64_t end) {
    const bool pair = y + 1 < end;
    const uint8_t* a = image.row(y);
    const uint8_t* b = pair ? image.row(y + 1) : a;
    if ((image.height - y - 2) * image.stride < kSlack) {
      // Behind the last row there may be nothing to read.
      const int64_t size = image.width * image.channels;
      last_.resize(2 * (size + kSlack));
      std::memcpy(last_.data(), a, size);
      std::memcpy(last_.data() + size + kSlack, b, size);
      a = last_.data();
      b = a + size + kSlack;
    }
    Out* into_a = spare_.data();
    Out* into_b = into_a + stride_ + kSlack;
    if (image.channels == 3) {
      across_two<3>(a, b, taps, width, first, into_a, into_b);
    } else {
      across_two<4>(a, b, taps, width, first, into_a, into_b);
    }
    std::memcpy(row(y), into_a, stride_ * sizeof(Out));
    if (pair) std::memcpy(row(y + 1), into_b, stride_ * sizeof(Out));
  }
#endif

  const int64_t begin_;
  const int64_t stride_;
  const std::unique_ptr<Out[]> values_;
#ifdef FLT_IMAGE_AVX2
  std::vector<uint8_t> last_;  // two rows of the source
  std::vector<Out> spare_;     // two of the result
#endif
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
