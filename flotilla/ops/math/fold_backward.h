// flotilla/ops/math/fold_backward.h
//
// The gradient of a fold of which each element has its own share: the largest one, a product, a
// logarithm of a sum.

#pragma once

#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/walk.h"
#include "flotilla/ops/math/elementwise.h"

namespace flotilla::ops {

// dx = F::f(o, g, x, x), with o and g repeated over the folded axes; `walk` is that of X and them.
template <typename F, typename O, typename G, typename T>
void spread_fold(const Walk& walk, const O* o, const G* g, const T* x, T* dx) {
  const BlockStrides strides = strides_of(walk);
  walk.run([=](const WalkBlock& b) {
    apply_grad_block<F>(o + b.x, g + b.y, x + b.out, x + b.out, dx + b.out, b.rows, b.columns,
                        strides);
  });
}

// X@GRAD = F::f(Out, Out@GRAD, X, X), with Out repeated over the folded axes. `to` is the shape of
// X with extent 1 where it is folded.
template <typename F, typename T>
Step fold_backward(PrepareContext& c, const Shape& to) {
  const Shape& x = c.shape("X");
  return [walk = Walk(x, {}, to, to), in = c.in<T>("X"), out = c.in<T>("Out"),
          dout = c.in<T>("Out@GRAD"), din = c.out<T>("X@GRAD")] {
    spread_fold<F>(walk, out.data(), dout.data(), in.data(), din.data());
  };
}

}  // namespace flotilla::ops
