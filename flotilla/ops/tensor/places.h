// flotilla/ops/tensor/places.h
//
// What operators share that choose elements of slices and say where they stand: the order of
// elements, and the way back of gradients. NaN counts as the largest.

#pragma once

#include <cstdint>
#include <type_traits>

#include "flotilla/base/half.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/move.h"
#include "flotilla/ops/common/slices.h"

namespace flotilla::ops {

// Whether a stands before b where `largest` elements come first.
template <typename T>
FLT_FN bool before(T a, T b, bool largest) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool a_is_nan = a != a, b_is_nan = b != b;
    if (a_is_nan || b_is_nan) return largest ? a_is_nan && !b_is_nan : !a_is_nan && b_is_nan;
  }
  return largest ? a > b : a < b;
}

// The order of places in a slice by the elements there. The place decides between equal ones, so
// that no stable sort (which allocates) is needed.
template <typename T>
struct PlaceOrder {
  const T* x = nullptr;  // the first element; the others lie `stride` apart
  int64_t stride = 1;
  bool largest = false;

  FLT_FN bool operator()(int64_t a, int64_t b) const {
    const Compute<T> left = widen(x[a * stride]), right = widen(x[b * stride]);
    if (before(left, right, largest)) return true;
    if (before(right, left, largest)) return false;
    return a < b;
  }
};

// X@GRAD of an op that took k elements of each slice of X from the places in Indices: every
// gradient goes back to where its element stood; the others get none.
template <typename T>
Step give_back(PrepareContext& c, const Slices& whole, int64_t k) {
  return [whole, k, indices = c.in<int64_t>("Indices"), dout = c.in<T>("Out@GRAD"),
          din = c.out<T>("X@GRAD")] {
    const int64_t* places = indices.data();
    const T* dy = dout.data();
    T* dx = din.data();
    zero_bytes(dx, whole.count() * whole.n * static_cast<int64_t>(sizeof(T)));
    parallel_for(whole.count(), k * 4, [=](int64_t slice) {
      const int64_t first = slice / whole.stride * k * whole.stride + slice % whole.stride;
      for (int64_t i = first; i < first + k * whole.stride; i += whole.stride) {
        require(0 <= places[i] && places[i] < whole.n,
                "Indices holds {}, but a slice of X has the elements 0 to {}", places[i],
                whole.n - 1);
        dx[whole.begin(slice) + places[i] * whole.stride] = dy[i];
      }
    });
  };
}

}  // namespace flotilla::ops
