// flotilla/ops/common/map.h
//
// to[i] = f(from[i]...), element by element: the loop of every such kernel on a CPU, as cuda::map
// is on a GPU. 16-bit floats are loaded block by block, computed as floats and stored, by the code
// that computes floats.

#pragma once

#include <algorithm>
#include <cstdint>

#include "flotilla/base/half.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/device/cpu/simd.h"

namespace flotilla::ops {

// 16-bit elements that are loaded at a time: few enough to stay in the first-level cache.
inline constexpr int64_t kLoaded = 512;

// Whether elements of all these types are computed as they lie in memory.
template <typename... T>
inline constexpr bool computed_as_stored = (!is_short_float<T> && ...);

// Elements to compute with: as they lie, or a copy of at most kLoaded. The elements of `from` are
// `stride` apart.
template <typename T>
class Loaded {
 public:
  Loaded(const T* from, int64_t, int64_t stride = 1) : from_(from), stride_(stride) {}
  const T* data() const { return from_; }
  int64_t stride() const { return stride_; }

 private:
  const T* from_;
  int64_t stride_;
};

template <typename T>
  requires is_short_float<T>
class Loaded<T> {
 public:
  Loaded(const T* from, int64_t n, int64_t stride = 1) {
    float* to = copy_;
    if (stride == 1) {
      simd([=] {
        for (int64_t i = 0; i < n; ++i) to[i] = widen(from[i]);
      });
    } else {
      for (int64_t i = 0; i < n; ++i) to[i] = widen(from[i * stride]);
    }
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  const float* data() const { return copy_; }
  int64_t stride() const { return 1; }

 private:
  float copy_[kLoaded];
};

// Calls f(begin, count, results) for pieces of [0, n); stores the results that f leaves there.
template <typename R, typename F>
void store_pieces(int64_t n, R* to, F f) {
  Compute<R> results[kLoaded];
  Compute<R>* const from = results;
  for (int64_t begin = 0; begin < n; begin += kLoaded) {
    const int64_t count = std::min(kLoaded, n - begin);
    f(begin, count, from);
    R* const piece = to + begin;
    simd([=] {
      for (int64_t i = 0; i < count; ++i) piece[i] = narrow<R>(from[i]);
    });
  }
}

// In the calling thread. `to` may be one of `from`.
template <typename F, typename R, typename... T>
void map_range(int64_t n, const F& f, R* to, const T*... from) {
  if constexpr (computed_as_stored<R, T...>) {
    simd([=] {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) to[i] = f(from[i]...);
    });
  } else {
    store_pieces(n, to, [=](int64_t begin, int64_t count, Compute<R>* results) {
      map_range(count, f, results, Loaded<T>(from + begin, count).data()...);
    });
  }
}

// On all threads; each gets `grain` elements at least.
template <typename F, typename R, typename... T>
void map(int64_t n, int64_t grain, const F& f, R* to, const T*... from) {
  parallel_ranges(n, grain, [=](int64_t begin, int64_t end) {
    map_range(end - begin, f, to + begin, (from + begin)...);
  });
}

}  // namespace flotilla::ops
