// flotilla/ops/common/slots.h
//
// Slots that many definitions have.

#pragma once

#include <string>
#include <utility>

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

// One number, which is never differentiated either.
inline Slot constant_number(std::string name, std::string doc) {
  Slot slot = constant(std::move(name), std::move(doc));
  slot.one = true;
  return slot;
}

}  // namespace flotilla::ops
