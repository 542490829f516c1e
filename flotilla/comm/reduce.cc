#include "flotilla/comm/reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/device/cpu/simd.h"

namespace flotilla::comm {
namespace {

// Sums stay in the first-level cache between the ranks.
constexpr int64_t kBlock = 1024;

FLT_INLINE float load(const float* x) { return *x; }
FLT_INLINE double load(const double* x) { return *x; }
FLT_INLINE int32_t load(const int32_t* x) { return *x; }
FLT_INLINE int64_t load(const int64_t* x) { return *x; }
FLT_INLINE float load(const BFloat16* x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x->bits) << 16);
}

template <typename T>
FLT_INLINE void store(T value, T* to) {
  *to = value;
}
// To the nearest, ties to even; NaN stays NaN.
FLT_INLINE void store(float value, BFloat16* to) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  to->bits = static_cast<uint16_t>(value == value ? rounded : (bits >> 16) | 0x40);
}

struct Sum {
  template <typename A>
  FLT_INLINE A operator()(A a, A b) const {
    return a + b;
  }
  // Integers wrap around, as they do everywhere else.
  FLT_INLINE int32_t operator()(int32_t a, int32_t b) const {
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
  FLT_INLINE int64_t operator()(int64_t a, int64_t b) const {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};
struct Prod {
  template <typename A>
  FLT_INLINE A operator()(A a, A b) const {
    return a * b;
  }
  FLT_INLINE int32_t operator()(int32_t a, int32_t b) const {
    return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
  }
  FLT_INLINE int64_t operator()(int64_t a, int64_t b) const {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};
// A NaN on either side is the result: it must not vanish on the way.
struct Max {
  template <typename A>
  FLT_INLINE A operator()(A a, A b) const {
    return a > b || a != a ? a : b;
  }
};
struct Min {
  template <typename A>
  FLT_INLINE A operator()(A a, A b) const {
    return a < b || a != a ? a : b;
  }
};

template <typename T, typename Op>
struct Combine {
  using A = decltype(load(std::declval<const T*>()));

  std::span<const void* const> ins;
  std::span<void* const> outs;
  bool average;
  A ranks;

  // Two ranks, each of which writes to itself or to both: without a stop in between.
  FLT_INLINE void pair(int64_t begin, int64_t end) const {
    const T* a = static_cast<const T*>(ins[0]);
    const T* b = static_cast<const T*>(ins[1]);
    T* y = static_cast<T*>(outs[0]);
    T* z = static_cast<T*>(outs[outs.size() - 1]);
    if (y == z) {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) store(of(load(a + i), load(b + i)), y + i);
    } else {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) {
        const A sum = of(load(a + i), load(b + i));
        store(sum, y + i);
        store(sum, z + i);
      }
    }
  }
  FLT_INLINE A of(A a, A b) const {
    const A sum = Op{}(a, b);
    return average ? sum / ranks : sum;
  }

  FLT_INLINE void many(int64_t begin, int64_t end) const {
    A sums[kBlock];
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t n = std::min(kBlock, end - at);
      const T* first = static_cast<const T*>(ins[0]) + at;
      for (int64_t i = 0; i < n; ++i) sums[i] = load(first + i);
      for (size_t r = 1; r < ins.size(); ++r) {
        const T* x = static_cast<const T*>(ins[r]) + at;
        for (int64_t i = 0; i < n; ++i) sums[i] = Op{}(sums[i], static_cast<A>(load(x + i)));
      }
      if (average) {
        for (int64_t i = 0; i < n; ++i) sums[i] = sums[i] / ranks;
      }
      for (void* out : outs) {
        T* y = static_cast<T*>(out) + at;
        for (int64_t i = 0; i < n; ++i) store(sums[i], y + i);
      }
    }
  }
};

template <typename T, typename Op>
void combine_range(std::span<const void* const> ins, std::span<void* const> outs, int64_t begin,
                   int64_t end, bool average, int ranks) {
  using C = Combine<T, Op>;
  const C c = {ins, outs, average, static_cast<typename C::A>(ranks)};
  if (ins.size() == 2 && outs.size() <= 2) {
    simd([&] { c.pair(begin, end); });
  } else {
    simd([&] { c.many(begin, end); });
  }
}

template <typename T>
void combine_typed(std::span<const void* const> ins, std::span<void* const> outs, int64_t count,
                   Reduce how, int ranks) {
  parallel_ranges(count, kGrainOperations, [&](int64_t begin, int64_t end) {
    switch (how) {
      case Reduce::kSum:
        return combine_range<T, Sum>(ins, outs, begin, end, false, ranks);
      case Reduce::kAverage:
        return combine_range<T, Sum>(ins, outs, begin, end, true, ranks);
      case Reduce::kProd:
        return combine_range<T, Prod>(ins, outs, begin, end, false, ranks);
      case Reduce::kMax:
        return combine_range<T, Max>(ins, outs, begin, end, false, ranks);
      case Reduce::kMin:
        return combine_range<T, Min>(ins, outs, begin, end, false, ranks);
    }
  });
}

}  // namespace

void check_reducible(DType dtype) {
  require(dtype == f32 || dtype == f64 || dtype == bf16 || dtype == i32 || dtype == i64,
          "only values of f32, f64, bf16, i32 or i64 can be reduced over ranks, but these are {}",
          dtype);
}

void combine(std::span<const void* const> ins, std::span<void* const> outs, int64_t count,
             DType dtype, Reduce how, int ranks) {
  switch (dtype) {
    case DType::kF32:
      return combine_typed<float>(ins, outs, count, how, ranks);
    case DType::kF64:
      return combine_typed<double>(ins, outs, count, how, ranks);
    case DType::kBF16:
      return combine_typed<BFloat16>(ins, outs, count, how, ranks);
    case DType::kInt32:
      return combine_typed<int32_t>(ins, outs, count, how, ranks);
    case DType::kInt64:
      return combine_typed<int64_t>(ins, outs, count, how, ranks);
    default:
      check_reducible(dtype);
  }
}

}  // namespace flotilla::comm
