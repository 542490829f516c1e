// flotilla/ops/math/folded_axes.h
//
// What reductions share: the axes of X that they fold, and the gradient of a fold of which each
// element has its own share: the largest one, a product, a logarithm of a sum.

#pragma once

#include <string_view>
#include <vector>

#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/walk.h"
#include "flotilla/ops/math/elementwise.h"

namespace flotilla::ops {

// The axes of X that a reduction folds, as its attributes name them.
class FoldedAxes {
 public:
  // `list` is the attribute with the axes; all are folded where it is empty, or reduce_all is set.
  // Refuses an axis that X does not have.
  template <typename Context>
  FoldedAxes(const Context& c, const Shape& x, std::string_view list) : x_(x) {
    const auto axes = c.template attr<std::vector<int64_t>>(list);
    const bool all = c.template attr<bool>("reduce_all") || axes.empty() || x.rank() == 0;
    folded_.assign(static_cast<size_t>(x.rank()), all);
    if (all) return;
    for (const int64_t axis : axes) {
      require(-x.rank() <= axis && axis < x.rank(),
              "{} must lie in [{}, {}) because X has shape {}, but holds {}", list, -x.rank(),
              x.rank(), x, axis);
      folded_[static_cast<size_t>(axis < 0 ? axis + x.rank() : axis)] = true;
    }
  }

  bool folds(int64_t axis) const { return folded_[static_cast<size_t>(axis)]; }
  // The shape of X with extent 1 where it is folded.
  Shape with_ones() const {
    Shape to = x_;
    for (int64_t a = 0; a < x_.rank(); ++a) {
      if (folds(a)) to[a] = 1;
    }
    return to;
  }
  // That of the result, which is never without an axis; `keep`: folded axes stay.
  Shape result(bool keep) const {
    Shape to;
    for (int64_t a = 0; a < x_.rank(); ++a) {
      if (keep || !folds(a)) to.push_back(folds(a) ? 1 : x_[a]);
    }
    return to.rank() == 0 ? Shape{1} : to;
  }

 private:
  Shape x_;
  std::vector<bool> folded_;
};

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
