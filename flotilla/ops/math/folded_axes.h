// flotilla/ops/math/folded_axes.h
//
// The axes of X that a reduction folds, as its attributes name them.

#pragma once

#include <string_view>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/shape.h"

namespace flotilla::ops {

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

}  // namespace flotilla::ops
