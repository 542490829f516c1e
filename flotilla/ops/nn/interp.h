// flotilla/ops/nn/interp.h
//
// What an element of a resized axis is mixed from.

#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "flotilla/base/host_device.h"
#include "flotilla/kernel/prepare.h"

namespace flotilla::ops {

enum class Mixing { kNearest, kLinear, kCubic };

struct Mix {
  int64_t count = 0;
  int64_t at[4] = {};
  double share[4] = {};

  FLT_FN void add(int64_t from, double part) {
    if (part == 0) return;
    at[count] = from;
    share[count++] = part;
  }
};

// How `to` elements come from `from`.
struct Mixer {
  Mixing mixing = Mixing::kNearest;
  int64_t from = 0, to = 0;
  float step = 0;             // between the positions of neighbours
  float least = 0, most = 0;  // positions; beyond, all is as at the border
  bool centers = false;       // positions count from the middle of an element
  bool rounds = false;        // to the nearest position, otherwise down

  // As in Paddle, in single precision: where a position is whole, the digits decide.
  FLT_FN float position_of(int64_t k) const {
    const auto at = static_cast<float>(k);
    float position = centers ? product(step, at + 0.5f) - 0.5f : product(step, at);
    if (rounds) position += 0.5f;
    if (!(position < most)) return most;
    return position < least ? least : position;
  }
  FLT_FN Mix at(int64_t k) const {
    const float position = position_of(k);
    const auto whole = static_cast<int64_t>(std::floor(position));
    const double beyond = static_cast<double>(position - static_cast<float>(whole));
    Mix mix;
    if (mixing == Mixing::kNearest) {
      mix.add(inside(whole), 1);
    } else if (mixing == Mixing::kLinear) {
      mix.add(inside(whole), 1 - beyond);
      mix.add(inside(whole + 1), beyond);
    } else {
      for (int64_t i = -1; i <= 2; ++i) {
        mix.add(inside(whole + i), cubic(static_cast<double>(i) - beyond));
      }
    }
    return mix;
  }
  // The first and the last element that k may be mixed from; neither falls while k grows.
  FLT_FN int64_t first_of(int64_t k) const {
    return inside(whole_of(k) - (mixing == Mixing::kCubic ? 1 : 0));
  }
  FLT_FN int64_t last_of(int64_t k) const {
    return inside(whole_of(k) + (mixing == Mixing::kCubic ? 2 : mixing == Mixing::kLinear ? 1 : 0));
  }

 private:
  FLT_FN int64_t whole_of(int64_t k) const {
    return static_cast<int64_t>(std::floor(position_of(k)));
  }
  FLT_FN int64_t inside(int64_t place) const {
    return place < 0 ? 0 : place >= from ? from - 1 : place;
  }
  // Rounded before anything is added to it, also on a GPU.
  FLT_FN static float product(float a, float b) {
#ifdef __CUDA_ARCH__
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
  }
  // The share of an element `distance` away.
  FLT_FN static double cubic(double distance) {
    constexpr double kA = -0.75;
    const double d = std::abs(distance);
    return d <= 1 ? ((kA + 2) * d - (kA + 3)) * d * d + 1
                  : ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA;
  }
};

// An axis resized: [outer][from][inner] becomes [outer][to][inner].
struct ResizedAxis {
  int64_t outer = 0, inner = 0;
  Mixer mixer = {};

  FLT_FN int64_t before() const { return outer * mixer.from * inner; }
  FLT_FN int64_t after() const { return outer * mixer.to * inner; }
};

// Resizes X to Out axis by axis on a GPU, or in this order Out@GRAD back to X@GRAD. A build with
// CUDA fills it in before main() (interp.cu).
template <typename T>
inline Step (*gpu_resize)(PrepareContext& c, const std::vector<ResizedAxis>& axes,
                          bool back) = nullptr;

}  // namespace flotilla::ops
