// flotilla/ops/math/scan.h
//
// What cumsum and logcumsumexp share: they walk along an axis, from either end, and leave at each
// element what they have gathered so far.

#pragma once

#include <vector>

#include "flotilla/kernel/prepare.h"
#include "flotilla/op/infer.h"
#include "flotilla/ops/common/slices.h"

namespace flotilla::ops {

inline std::vector<AttrSpec> scan_attrs() {
  return {{"axis", int32_t{-1}, "direction of the walk"},
          {"flatten", false, "walks over X as one long row"},
          {"exclusive", false, "an element counts for those after it only"},
          {"reverse", false, "walks from the end"}};
}

// Out has the shape of X, or is one long row. Refuses an axis that X does not have.
inline void infer_scan(InferContext& c) {
  const VarMeta& x = c.in("X");
  VarMeta out = like(x);
  if (c.attr<bool>("flatten")) {
    out = VarMeta::tensor(x.dtype, {x.shape.numel()});
  } else if (x.shape.rank() > 0) {
    x.shape.axis(c.attr<int64_t>("axis"));
  }
  c.out("Out") = std::move(out);
}

// The slices of a tensor, each in the order of the walk.
class Scan {
 public:
  // `shape` is that of X. A gradient walks back: `reverse` need not be the attribute.
  Scan(const PrepareContext& c, const Shape& shape, bool reverse)
      : slices_(slices(shape, c.attr<int64_t>("axis"), c.attr<bool>("flatten"))),
        reverse_(reverse),
        exclusive_(c.attr<bool>("exclusive")) {}

  int64_t count() const { return slices_.count(); }
  int64_t length() const { return slices_.n; }
  bool exclusive() const { return exclusive_; }
  // Where a slice begins, and how far the next element is.
  int64_t first(int64_t slice) const {
    return slices_.begin(slice) + (reverse_ ? (slices_.n - 1) * slices_.stride : 0);
  }
  int64_t step() const { return reverse_ ? -slices_.stride : slices_.stride; }

 private:
  Slices slices_;
  bool reverse_ = false;
  bool exclusive_ = false;
};

}  // namespace flotilla::ops
