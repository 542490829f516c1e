// flotilla/layers/indexing.h
//
// x[...] as numpy reads it, to take elements or to set them:
//
//   index(x, {at(3)})                        x[3]
//   index(x, {range(1, 4), all(), rows})     x[1:4, :, rows], `rows` whole numbers or a mask
//   set(x, {mask}, 0.0)                      x with zeros where `mask` is true

#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/layers/variable.h"
#include "flotilla/tensor/tensor.h"

namespace flotilla::layers {

// One place of an index.
struct Index {
  enum Kind { kAt, kRange, kNewAxis, kEllipsis, kTensor };
  static constexpr int64_t kEnd = 2147483647;  // of an axis, however long

  Kind kind = kRange;
  int64_t begin = 0;  // kAt: the element
  int64_t end = kEnd;
  int64_t step = 1;
  // Variables of one whole number in the place of `begin` and `end`; null: there are none.
  Var* begin_var = nullptr;
  Var* end_var = nullptr;
  // kTensor: whole numbers, which pick along one axis, or a mask over as many axes as it has.
  Var* tensor = nullptr;
  bool along_new_axis = false;  // kTensor: a mask of one element, which keeps all of x or nothing
};
inline Index at(int64_t element) { return {.kind = Index::kAt, .begin = element}; }
inline Index at(Variable element) {
  return {.kind = Index::kAt, .begin_var = &static_cast<Var&>(element)};
}
inline Index range(int64_t begin, int64_t end = Index::kEnd, int64_t step = 1) {
  return {.begin = begin, .end = end, .step = step};
}
inline Index all() { return {}; }
inline Index by(Variable tensor) {
  return {.kind = Index::kTensor, .tensor = &static_cast<Var&>(tensor)};
}
// Python's True and False as an index.
inline Index all_if(Variable mask) {
  return {.kind = Index::kTensor, .tensor = &static_cast<Var&>(mask), .along_new_axis = true};
}

// Elements of x, as Python's x[...] picks them. Variables are named <x>_slice_<n>.
Variable index(Variable x, const std::vector<Index>& places);

// x with the elements that x[...] picks replaced by a value, which is repeated to their shape.
// `in_place`: x itself is changed, for the ops that follow.
Variable set(Variable x, const std::vector<Index>& places, const Operand& value,
             bool in_place = false);

// A variable with the elements of a tensor, which become attributes of the program.
Variable constant(const Tensor& tensor);

}  // namespace flotilla::layers
