// flotilla/tensor/tensor.h
//
// A tensor is a piece of a buffer, a shape, a dtype and a layout. Copies of a Tensor share the
// elements; clone() does not.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "flotilla/base/dtype.h"
#include "flotilla/base/layout.h"
#include "flotilla/base/shape.h"
#include "flotilla/device/allocator.h"

namespace flotilla {

// Level by level, the offsets at which sequences begin in the rows of a tensor; the last offset of
// the last level is the number of rows.
using LoD = std::vector<std::vector<int64_t>>;

class Tensor {
 public:
  Tensor() = default;
  // Uninitialised memory is zero.
  Tensor(DType dtype, Shape shape, Layout layout = {});
  // A view of `buffer` from byte `offset` on.
  Tensor(DType dtype, Shape shape, Layout layout, std::shared_ptr<Buffer> buffer,
         int64_t offset = 0);

  template <typename T>
  static Tensor of(std::span<const T> values, Shape shape);

  // Whether it has memory: a variable that was never written has none.
  bool defined() const { return buffer_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Layout& layout() const { return layout_; }
  const LoD& lod() const { return lod_; }
  void set_lod(LoD lod) { lod_ = std::move(lod); }

  int64_t numel() const { return shape_.numel(); }
  // Bytes as stored, padding included.
  int64_t bytes() const { return layout_.physical_numel(shape_) * size_of(dtype_); }
  // Of the host, as all that follows.
  void* raw() const;
  // The elements as they lie in the memory of a device, until the host asks for them.
  void* on(Backend& device, DeviceUse use) const;
  // REQUIRES: T is the dtype's type.
  template <typename T>
  T* data() const;
  // REQUIRES: T is the dtype's type, and the layout is plain.
  template <typename T>
  std::span<T> span() const {
    require(layout_.plain(), "the elements of a tensor in layout {} do not lie in order", layout_);
    return {data<T>(), static_cast<size_t>(numel())};
  }

  // The same elements with other extents. REQUIRES: plain, same number of elements.
  Tensor reshaped(Shape shape) const;
  // A copy with memory of its own, in `layout`.
  Tensor clone(const Layout& layout = {}) const;
  // Itself where the layout is plain, otherwise a plain copy.
  Tensor plain() const { return layout_.plain() ? *this : clone(); }
  // Overwrites the elements with those of `source`, whatever its layout.
  // REQUIRES: same shape and dtype.
  void copy_from(const Tensor& source);

 private:
  DType dtype_ = f32;
  Shape shape_;
  Layout layout_;
  LoD lod_;
  std::shared_ptr<Buffer> buffer_;
  int64_t offset_ = 0;
};

// Refuses a LoD whose offsets do not ascend from 0 or do not end where the next level ends.
void check_lod(const LoD& lod, int64_t rows);

// Some rows of a tall dense tensor, as the gradient of an embedding is. Row numbers may repeat:
// then the rows add up.
struct SelectedRows {
  int64_t height = 0;  // rows of the dense tensor
  std::vector<int64_t> rows = {};
  Tensor value = {};  // [rows.size(), ...]

  Tensor to_dense() const;
};

template <typename T>
T* Tensor::data() const {
  require(dtype_ == dtype_of<T>, "the tensor holds {}, but {} was asked for", dtype_, dtype_of<T>);
  return static_cast<T*>(raw());
}

template <typename T>
Tensor Tensor::of(std::span<const T> values, Shape shape) {
  require(shape.numel() == static_cast<int64_t>(values.size()), "{} values do not fill shape {}",
          values.size(), shape);
  Tensor made(dtype_of<T>, std::move(shape));
  std::copy(values.begin(), values.end(), made.data<T>());
  return made;
}

}  // namespace flotilla
