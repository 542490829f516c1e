// python/src/owned_array.h
//
// Numpy arrays of what C++ made.

#pragma once

#include <nanobind/ndarray.h>

#include <span>
#include <vector>

#include "bind.h"

namespace flotilla::python {

// An array that owns the elements: nothing is copied.
template <typename T>
nb::object owned_array(std::vector<T> elements, std::span<const size_t> shape) {
  auto* kept = new std::vector<T>(std::move(elements));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), owner));
}

template <typename T>
nb::object owned_array(std::vector<T> elements, std::initializer_list<size_t> shape) {
  return owned_array(std::move(elements), std::span(shape.begin(), shape.size()));
}

}  // namespace flotilla::python
