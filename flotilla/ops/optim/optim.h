// flotilla/ops/optim/optim.h
//
// How the kernels of optimizer ops reach numbers and tensors. A parameter, its gradient and its
// state may lie in a blocked layout: all of them are taken in the parameter's, and the loops run
// over the padding too, which is zero and stays so.

#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "flotilla/kernel/prepare.h"

namespace flotilla::ops {

// A number in a tensor of one element, f32 or f64.
class NumberIn {
 public:
  NumberIn() = default;
  NumberIn(PrepareContext& c, std::string_view slot, size_t i = 0)
      : single_(c.dtype(slot, i) == f32 ? c.in<float>(slot, i) : In<float>()),
        double_(c.dtype(slot, i) == f32 ? In<double>() : c.in<double>(slot, i)) {}

  explicit operator bool() const { return single_ || double_; }
  template <typename T>
  T get() const {
    return single_ ? static_cast<T>(*single_.data()) : static_cast<T>(*double_.data());
  }

 private:
  In<float> single_;
  In<double> double_;
};

// A tensor that is changed: usually one variable in both slots, otherwise copied first.
template <typename T>
class Changed {
 public:
  Changed() = default;
  Changed(PrepareContext& c, std::string_view in, std::string_view out, const Layout& layout,
          size_t i = 0)
      : size_(layout.physical_numel(c.shape(in, i))) {
    c.in_place(in, out, i, i);
    in_ = c.in<T>(in, i, layout);
    out_ = c.out<T>(out, i, layout);
  }

  int64_t size() const { return size_; }
  T* data() const { return out_.data(); }
  // To be called once in a run, before the first change.
  T* start() const {
    if (in_.data() != out_.data()) std::copy_n(in_.data(), size_, out_.data());
    return out_.data();
  }

 private:
  int64_t size_ = 0;
  In<T> in_;
  Out<T> out_;
};

template <typename T>
std::span<T> part(T* data, int64_t begin, int64_t end) {
  return {data + begin, static_cast<size_t>(end - begin)};
}

}  // namespace flotilla::ops
