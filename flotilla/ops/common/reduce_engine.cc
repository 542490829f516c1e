#include "flotilla/ops/common/reduce_engine.h"

namespace flotilla::ops {

FoldPlan::FoldPlan(const Shape& from, const Layout& layout, const Shape& to) {
  // What is folded is what is repeated when going back: Y does not move along it. A tensor that
  // keeps every axis still moves as one.
  const std::vector<WalkAxis> axes = walk_axes(from, layout, from, to);
  for (size_t i = 0; i < axes.size(); ++i) {
    const Axis axis = {axes[i].extent, axes[i].x, axes[i].y};
    const bool folded = axis.to == 0;
    if (i + 1 == axes.size()) {
      run_ = axis.extent;
      run_to_ = axis.to;
      inner_folded_ = folded;
    } else {
      (folded ? fold_ : keep_).push_back(axis);
      (folded ? outer_fold_ : outer_keep_) *= axis.extent;
    }
  }
}

}  // namespace flotilla::ops
