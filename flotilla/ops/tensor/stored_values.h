// flotilla/ops/tensor/stored_values.h
//
// The elements of a tensor that stand in attributes of assign_value and fill.

#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "flotilla/kernel/prepare.h"

namespace flotilla::ops {

// The attribute that holds elements of a dtype.
inline std::string values_attr(DType dtype) {
  if (dtype == boolean) return "bool_values";
  return fmt::format("{}{}_values", is_floating(dtype) ? "fp" : "int", 8 * size_of(dtype));
}
// How it holds them.
template <typename T>
using StoredAs = std::conditional_t<std::is_same_v<T, bool>, int32_t, T>;

// Refuses another number of them than Out has elements.
template <typename Stored>
std::vector<Stored> stored_values(const PrepareContext& c, const std::string& attr) {
  std::vector<Stored> stored = c.attr<std::vector<Stored>>(attr);
  const int64_t n = c.shape("Out").numel();
  require(std::ssize(stored) == n, "{} needs {} values in {} for shape {}, but has {}",
          c.op().type(), n, attr, c.shape("Out"), stored.size());
  return stored;
}

}  // namespace flotilla::ops
