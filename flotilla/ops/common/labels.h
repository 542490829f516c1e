// flotilla/ops/common/labels.h
//
// Class numbers, as i64 or i32.

#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "flotilla/base/host_device.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {

class LabelsIn {
 public:
  LabelsIn() = default;
  LabelsIn(PrepareContext& c, std::string_view slot, size_t i = 0)
      : wide_(c.dtype(slot, i) == i64 ? c.in<int64_t>(slot, i) : In<int64_t>()),
        narrow_(c.dtype(slot, i) == i64 ? In<int32_t>() : c.in<int32_t>(slot, i)),
        count_(c.shape(slot, i).numel()),
        slot_(slot) {}

  // Refuses a number that is not there: sequences may have rows without elements.
  int64_t operator[](int64_t i) const {
    require(i < count_, "{} must hold a number for each of its rows, but holds {}", slot_, count_);
    return wide_ ? wide_.data()[i] : narrow_.data()[i];
  }

  // The numbers where they lie, for a GPU.
  const void* data() const {
    if (wide_) return wide_.data();
    return narrow_.data();
  }
  bool wide() const { return static_cast<bool>(wide_); }

  // Label i; refuses one that is neither a class nor `ignored`.
  int64_t checked(int64_t i, int64_t classes, int64_t ignored) const {
    const int64_t label = (*this)[i];
    require((0 <= label && label < classes) || label == ignored,
            "label {} is {}, but there are the classes 0 to {}", i, label, classes - 1);
    return label;
  }

 private:
  In<int64_t> wide_;
  In<int32_t> narrow_;
  int64_t count_ = 0;
  std::string slot_;
};

// Refuses labels that are not whole numbers.
inline void check_labels(const InferContext& c, std::string_view slot, size_t i = 0) {
  const DType dtype = c.dtype(slot, i);
  require(dtype == i64 || dtype == i32, "{} must hold i64 or i32, but holds {}", slot, dtype);
}

// The same for labels of which there is one for each row of `slot`, along the last axis.
inline void check_row_labels(const InferContext& c, std::string_view slot = "X",
                             std::string_view labels = "Label") {
  check_labels(c, labels);
  const Shape &x = c.in(slot).shape, &found = c.in(labels).shape;
  require(x.rank() >= 1, "{} must have rank 1 or more, but has shape {}", slot, x);
  require(fits(found.numel(), x.numel(0, x.rank() - 1)),
          "{} must hold one class number for each row of {}, but {} is {} and {} is {}", labels,
          slot, labels, found, slot, x);
}

// The shape with another last extent: a number for each row, a row for each row.
inline Shape with_last(Shape shape, int64_t extent) {
  shape[shape.rank() - 1] = extent;
  return shape;
}

// Rows of X, whose last axis numbers classes, each with a label.
struct LabelledRows {
  int64_t count = 0;
  int64_t classes = 0;
  LabelsIn labels = {};  // none where they are soft

  // `x` names a slot that is as X; `soft`: Label holds no class numbers.
  explicit LabelledRows(PrepareContext& c, std::string_view x = "X", bool soft = false)
      : count(c.shape(x).numel(0, c.shape(x).rank() - 1)),
        classes(c.shape(x)[c.shape(x).rank() - 1]),
        labels(soft ? LabelsIn() : LabelsIn(c, "Label")) {}
};

// Minus the logarithm, with Paddle's 1e20 in the place of infinity.
template <typename T>
FLT_FN T minus_log(T p) {
  return p == 0 ? T{1e20} : -std::log(p);
}

}  // namespace flotilla::ops
