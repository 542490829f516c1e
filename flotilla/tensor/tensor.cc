#include "flotilla/tensor/tensor.h"

#include <algorithm>
#include <cstring>

#include "flotilla/base/error.h"
#include "flotilla/device/cpu/onednn.h"

namespace flotilla {

Tensor::Tensor(DType dtype, Shape shape, Layout layout)
    : dtype_(dtype), shape_(std::move(shape)), layout_(std::move(layout)) {
  require(shape_.known(), "a tensor cannot have shape {}", shape_);
  buffer_ = Buffer::make(bytes());
}

Tensor::Tensor(DType dtype, Shape shape, Layout layout, std::shared_ptr<Buffer> buffer,
               int64_t offset)
    : dtype_(dtype),
      shape_(std::move(shape)),
      layout_(std::move(layout)),
      buffer_(std::move(buffer)),
      offset_(offset) {
  require(offset_ >= 0 && offset_ + bytes() <= buffer_->size(),
          "a tensor of {} bytes at byte {} does not fit into a buffer of {} bytes", bytes(),
          offset_, buffer_->size());
}

void* Tensor::raw() const {
  require(defined(), "the tensor is not initialised");
  return static_cast<char*>(buffer_->data()) + offset_;
}

void* Tensor::on(Backend& device, DeviceUse use) const {
  require(defined(), "the tensor is not initialised");
  const bool whole = offset_ == 0 && bytes() + kBufferAlignment > buffer_->size();
  if (!whole && use == DeviceUse::kReplace) use = DeviceUse::kChange;
  return static_cast<char*>(buffer_->on(device, use)) + offset_;
}

Tensor Tensor::reshaped(Shape shape) const {
  require(layout_.plain() && shape.numel() == numel(), "a tensor of shape {} cannot take shape {}",
          shape_, shape);
  Tensor view = *this;
  view.shape_ = std::move(shape);
  return view;
}

Tensor Tensor::clone(const Layout& layout) const {
  Tensor copy(dtype_, shape_, layout);
  copy.lod_ = lod_;
  copy.copy_from(*this);
  return copy;
}

void Tensor::copy_from(const Tensor& source) {
  require(source.shape_ == shape_ && source.dtype_ == dtype_,
          "{} of shape {} cannot be copied into {} of shape {}", source.dtype_, source.shape_,
          dtype_, shape_);
  if (layout_ == source.layout_) {
    std::memcpy(raw(), source.raw(), static_cast<size_t>(bytes()));
  } else {
    onednn::Reorder reorder(shape_, dtype_, source.layout_, layout_);
    const std::shared_ptr<Buffer> scratch = Buffer::make(reorder.scratch_bytes());
    reorder.run(source.raw(), raw(), scratch->data());
  }
}

void check_lod(const LoD& lod, int64_t rows) {
  for (size_t level = 0; level < lod.size(); ++level) {
    const std::vector<int64_t>& offsets = lod[level];
    require(
        !offsets.empty() && offsets.front() == 0 && std::is_sorted(offsets.begin(), offsets.end()),
        "level {} of a LoD must ascend from 0, but is [{}]", level, fmt::join(offsets, ", "));
    const int64_t end =
        level + 1 < lod.size() ? static_cast<int64_t>(lod[level + 1].size()) - 1 : rows;
    require(offsets.back() == end, "level {} of a LoD must end at {}, but ends at {}", level, end,
            offsets.back());
  }
}

Tensor SelectedRows::to_dense() const {
  const int64_t width = value.shape().numel(1, value.shape().rank());
  std::vector<int64_t> dims = value.shape().dims();
  dims.front() = height;
  Tensor dense(value.dtype(), Shape(dims));
  visit_dtype(value.dtype(), [&](auto tag) {
    using T = decltype(tag);
    T* out = dense.data<T>();
    const T* in = value.data<T>();
    for (size_t r = 0; r < rows.size(); ++r) {
      require(0 <= rows[r] && rows[r] < height, "row {} lies outside a tensor of {} rows", rows[r],
              height);
      for (int64_t i = 0; i < width; ++i) {
        T& cell = out[rows[r] * width + i];
        cell = static_cast<T>(cell + in[static_cast<int64_t>(r) * width + i]);
      }
    }
  });
  return dense;
}

}  // namespace flotilla
