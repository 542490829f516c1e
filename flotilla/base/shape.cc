#include "flotilla/base/shape.h"

#include <algorithm>

#include "flotilla/base/element_count.h"
#include "flotilla/base/error.h"

namespace flotilla {

int64_t Shape::numel(int64_t begin, int64_t end) const {
  bool empty = false;
  for (int64_t a = begin; a < end; ++a) {
    if ((*this)[a] < 0) return -1;
    empty = empty || (*this)[a] == 0;
  }
  if (empty) return 0;  // the product of the others need not fit
  int64_t product = 1;
  for (int64_t a = begin; a < end; ++a) {
    require((*this)[a] <= kMaxElements / product,
            "a tensor can have 2^55 elements at most, but one of shape {} has more", *this);
    product *= (*this)[a];
  }
  return product;
}

void Shape::refuse_axis(int64_t axis) const {
  refuse("a tensor of shape {} has no axis {}", *this, axis);
}

bool Shape::known() const {
  return std::all_of(dims_.begin(), dims_.end(), [](int64_t extent) { return extent >= 0; });
}

int64_t Shape::axis(int64_t axis) const {
  require(-rank() <= axis && axis < rank(),
          "an axis of a tensor of shape {} must lie in [{}, {}), but is {}", *this, -rank(), rank(),
          axis);
  return axis < 0 ? axis + rank() : axis;
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.dims(), ", "));
}

}  // namespace flotilla
