// flotilla/ops/common/slots.h
//
// Slots that many definitions have.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "flotilla/op/op_def.h"

namespace flotilla::ops {

// Never differentiated: labels, lengths, factors that a user chose.
inline Slot constant(std::string name, std::string doc) {
  return {.name = std::move(name), .doc = std::move(doc), .no_grad = true};
}

// The same, and it may be missing.
inline Slot optional_constant(std::string name, std::string doc) {
  return {.name = std::move(name), .doc = std::move(doc), .optional = true, .no_grad = true};
}

// The gradient of a body, whose op has more to say than the slots it uses.
inline GradRule body_gradient(std::vector<Use> uses, GradOp op) {
  GradRule rule = grad_of_body(std::move(uses));
  rule.op = std::move(op);
  return rule;
}

// The gradient has a kernel for floats.
template <typename F>
GradRule float_grad(std::vector<Use> uses, F kernel) {
  return grad_op(std::move(uses), {.kernels = kernels_for<float, double>(kernel)});
}

template <typename T>
std::vector<T> joined(std::vector<T> first, const std::vector<T>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

// What some programs give and others do not; unless it is `read`, its extents count at most.
inline Slot maybe(std::string name, std::string doc, bool read = true) {
  return {.name = std::move(name), .doc = std::move(doc), .optional = true, .shape_only = !read};
}
inline Slot unread(std::string name, std::string doc = "not needed") {
  return maybe(std::move(name), std::move(doc), false);
}

// Gives extents, instead of an attribute.
inline Slot shape_giver(std::string name, std::string doc) {
  Slot slot = unread(std::move(name), std::move(doc));
  slot.no_grad = true;
  return slot;
}

// The slot with any number of variables.
inline Slot several(Slot slot) {
  slot.list = true;
  return slot;
}

// The slot with one number, instead of an attribute for example.
inline Slot single(Slot slot) {
  slot.one = true;
  return slot;
}

// One number, which is never differentiated either.
inline Slot constant_number(std::string name, std::string doc) {
  return single(constant(std::move(name), std::move(doc)));
}

}  // namespace flotilla::ops
