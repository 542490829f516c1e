// flotilla/ops/sequence/gru.h
//
// The formulas of a gated recurrent unit (Cho et al., 2014), row by row:
//
//   u, r = gate(Input_ur + h' W_ur + Bias_ur)                h': hidden state of the step before
//   k = activation(Input_k + (r h') W_k + Bias_k)
//   h = (1 - u) h' + u k, or with origin_mode u h' + (1 - u) k
//
// A row of gates holds what goes into u, r and k, `width` numbers each, and later what they are.
// Weight holds W_ur, [width, 2 * width], and behind it W_k, [width, width].

#pragma once

#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/sequence/recurrent.h"

namespace flotilla::ops {

struct GruUnit {
  int64_t width = 0;
  bool origin = false;
  Activation gate = {};
  Activation candidate = {};

  // What goes into the gates becomes them; reset = r h'. A null `before` stands for zeros.
  template <typename T>
  void open(const T* before, T* g, T* reset) const {
    for (int64_t j = 0; j < 2 * width; ++j) g[j] = activate(gate, g[j]);
    for (int64_t d = 0; d < width; ++d) {
      reset[d] = before == nullptr ? T{0} : g[width + d] * before[d];
    }
  }

  // What goes into the candidate becomes it, and gives the new state.
  template <typename T>
  void close(const T* before, T* g, T* h) const {
    for (int64_t d = 0; d < width; ++d) {
      const T old = before == nullptr ? T{0} : before[d], u = g[d];
      const T k = g[2 * width + d] = activate(candidate, g[2 * width + d]);
      h[d] = origin ? u * old + (1 - u) * k : (1 - u) * old + u * k;
    }
  }

  // Back through close(): dg, what goes into u and k. dh, the gradient of h, becomes what reaches
  // h' past the gates.
  template <typename T>
  void close_back(const T* before, const T* g, T* dh, T* dg) const {
    for (int64_t d = 0; d < width; ++d) {
      const T old = before == nullptr ? T{0} : before[d], u = g[d], k = g[2 * width + d];
      dg[d] = dh[d] * (origin ? old - k : k - old) * slope(gate, u);
      dg[2 * width + d] = dh[d] * (origin ? 1 - u : u) * slope(candidate, k);
      dh[d] *= origin ? u : 1 - u;
    }
  }

  // Back through open(): what goes into r, and what reaches h' by way of r h'.
  template <typename T>
  void open_back(const T* before, const T* g, const T* dreset, T* dh, T* dg) const {
    for (int64_t d = 0; d < width; ++d) {
      const T old = before == nullptr ? T{0} : before[d], r = g[width + d];
      dg[width + d] = dreset[d] * old * slope(gate, r);
      dh[d] += dreset[d] * r;
    }
  }
};

}  // namespace flotilla::ops
