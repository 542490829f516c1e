#include "flotilla/data/column.h"

#include <cstring>

#include "flotilla/base/error.h"

namespace flotilla::data {
namespace {

Shape sample_shape(const Tensor& values) {
  require(values.shape().rank() > 0,
          "the first axis of a field counts samples, but this field is a scalar");
  return Shape(std::vector<int64_t>(values.shape().begin() + 1, values.shape().end()));
}

class Rows final : public Column {
 public:
  explicit Rows(Tensor values) : values_(values.plain()), shape_(sample_shape(values_)) {}

  int64_t size() const override { return values_.shape()[0]; }
  DType dtype() const override { return values_.dtype(); }
  const Shape& shape() const override { return shape_; }

  void gather(std::span<const int64_t> indices, std::span<const int32_t>,
              void* out) const override {
    const auto bytes = static_cast<size_t>(shape_.numel() * size_of(values_.dtype()));
    const char* from = static_cast<const char*>(values_.raw());
    char* to = static_cast<char*>(out);
    for (const int64_t i : indices) {
      std::memcpy(to, from + static_cast<size_t>(i) * bytes, bytes);
      to += bytes;
    }
  }

 private:
  const Tensor values_;
  const Shape shape_;
};

class ScaledRows final : public Column {
 public:
  ScaledRows(Tensor bytes, float scale, float shift)
      : bytes_(bytes.plain()), shape_(sample_shape(bytes_)), scale_(scale), shift_(shift) {
    require(bytes_.dtype() == u8, "only bytes are scaled while they are gathered, but these are {}",
            bytes_.dtype());
  }

  int64_t size() const override { return bytes_.shape()[0]; }
  DType dtype() const override { return f32; }
  const Shape& shape() const override { return shape_; }

  void gather(std::span<const int64_t> indices, std::span<const int32_t>,
              void* out) const override {
    const int64_t n = shape_.numel();
    const uint8_t* from = bytes_.data<uint8_t>();
    float* to = static_cast<float*>(out);
    for (const int64_t i : indices) {
      const uint8_t* row = from + i * n;
      for (int64_t j = 0; j < n; ++j) to[j] = static_cast<float>(row[j]) * scale_ + shift_;
      to += n;
    }
  }

 private:
  const Tensor bytes_;
  const Shape shape_;
  const float scale_, shift_;
};

}  // namespace

std::shared_ptr<const Column> rows_of(Tensor values) {
  return std::make_shared<Rows>(std::move(values));
}

std::shared_ptr<const Column> scaled_rows_of(Tensor bytes, float scale, float shift) {
  return std::make_shared<ScaledRows>(std::move(bytes), scale, shift);
}

int64_t samples_of(const Columns& columns) {
  require(!columns.empty(), "a data set needs at least one field");
  const int64_t size = columns[0]->size();
  for (size_t i = 1; i < columns.size(); ++i) {
    require(columns[i]->size() == size,
            "all fields of a data set must have the same number of samples, but field 0 has {} and "
            "field {} has {}",
            size, i, columns[i]->size());
  }
  return size;
}

void check_indices(std::span<const int64_t> indices, int64_t size) {
  for (const int64_t i : indices) {
    require(0 <= i && i < size, "index {} is outside the data set of {} samples", i, size);
  }
}

}  // namespace flotilla::data
