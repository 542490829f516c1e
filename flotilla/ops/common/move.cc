#include "flotilla/ops/common/move.h"

#include <algorithm>
#include <cstring>

#include "flotilla/device/cpu/parallel.h"

namespace flotilla::ops {
namespace {

// What a thread should move at least.
constexpr int64_t kGrainBytes = 64 << 10;
// A tile of a transpose: what is read at once, and what is written at once, in elements.
constexpr int64_t kTileRows = 64, kTileColumns = 16;

template <typename Unit>
void copy_unit(char* to, const char* from) {
  std::memcpy(to, from, sizeof(Unit));
}

// Calls f with a function that copies `unit` bytes, inlined for the sizes of elements.
template <typename F>
void with_unit(int64_t unit, F&& f) {
  switch (unit) {
    case 1:
      return f([](char* to, const char* from) { copy_unit<int8_t>(to, from); });
    case 2:
      return f([](char* to, const char* from) { copy_unit<int16_t>(to, from); });
    case 4:
      return f([](char* to, const char* from) { copy_unit<int32_t>(to, from); });
    case 8:
      return f([](char* to, const char* from) { copy_unit<int64_t>(to, from); });
    default:
      return f(
          [unit](char* to, const char* from) { std::memcpy(to, from, static_cast<size_t>(unit)); });
  }
}

}  // namespace

std::vector<Kernel> every_dtype(Step (*prepare)(PrepareContext&)) {
  std::vector<Kernel> kernels;
  for (const DType dtype : {f32, f64, i32, i64, boolean, u8, i8, i16, f16, bf16}) {
    kernels.push_back({kCpu, dtype, prepare});
  }
  return kernels;
}

void copy_bytes(void* to, const void* from, int64_t bytes) {
  if (to == from) return;
  parallel_ranges(bytes, kGrainBytes, [=](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                static_cast<size_t>(end - begin));
  });
}

void zero_bytes(void* to, int64_t bytes) {
  parallel_ranges(bytes, kGrainBytes, [=](int64_t begin, int64_t end) {
    std::memset(static_cast<char*>(to) + begin, 0, static_cast<size_t>(end - begin));
  });
}

Step pass_through(PrepareContext& c, std::string_view in, std::string_view out,
                  const Layout& layout, size_t i) {
  const Shape &x = c.shape(in, i), &y = c.shape(out, i);
  require(x.numel() == y.numel(), "{} of shape {} cannot become {} of shape {}", in, x, out, y);
  c.view(in, out, i, i);
  if (on_gpu(c)) return gpu_moves.pass_through(c, in, out, layout, i);
  const int64_t bytes = layout.physical_numel(x) * size_of(c.dtype(in, i));
  return [bytes, from = c.in_bytes(in, i, layout), to = c.out_bytes(out, i, layout)] {
    copy_bytes(to.data(), from.data(), bytes);
  };
}

Ints dense_strides(const Shape& shape) {
  Ints strides(static_cast<size_t>(shape.rank()), 1);
  for (int64_t a = shape.rank() - 2; a >= 0; --a) {
    strides[static_cast<size_t>(a)] = strides[static_cast<size_t>(a + 1)] * shape[a + 1];
  }
  return strides;
}

BoxCopy::BoxCopy(const Ints& extents, const Ints& to_strides, const Ints& from_strides,
                 int64_t size)
    : unit_(size) {
  for (size_t a = 0; a < extents.size(); ++a) {
    if (extents[a] == 1) continue;
    const Axis axis = {extents[a], to_strides[a] * size, from_strides[a] * size};
    const bool continues = !outer_.empty() && outer_.back().to == axis.to * axis.extent &&
                           outer_.back().from == axis.from * axis.extent;
    if (continues) {
      outer_.back() = {outer_.back().extent * axis.extent, axis.to, axis.from};
    } else {
      outer_.push_back(axis);
    }
  }
  if (!outer_.empty() && outer_.back().to == unit_ && outer_.back().from == unit_) {
    unit_ *= outer_.back().extent;
    outer_.pop_back();
  }
  if (!outer_.empty()) {
    column_ = outer_.back();
    outer_.pop_back();
  }
  // Where another axis is the dense one of `from`, go over both in tiles.
  const auto dense =
      std::find_if(outer_.begin(), outer_.end(), [&](const Axis& a) { return a.from == unit_; });
  tiled_ = column_.to == unit_ && unit_ == size && dense != outer_.end();
  if (tiled_) {
    row_ = *dense;
    outer_.erase(dense);
  } else if (!outer_.empty()) {
    row_ = outer_.back();
    outer_.pop_back();
  }
  for (const Axis& axis : outer_) outer_count_ *= axis.extent;
}

// One tile through a buffer: `from` is read and `to` written in whole cache lines, whatever the
// strides; powers of two would throw lines out of the cache before they are used up.
template <typename Unit>
void BoxCopy::copy_tile(char* to, const char* from, int64_t rows, int64_t columns) const {
  Unit tile[kTileColumns][kTileRows];
  for (int64_t c = 0; c < columns; ++c) {
    std::memcpy(tile[c], from + c * column_.from, static_cast<size_t>(rows) * sizeof(Unit));
  }
  for (int64_t r = 0; r < rows; ++r) {
    Unit* line = reinterpret_cast<Unit*>(to + r * row_.to);
    for (int64_t c = 0; c < columns; ++c) line[c] = tile[c][r];
  }
}

void BoxCopy::copy_rows(char* to, const char* from, int64_t begin, int64_t end) const {
  to += begin * row_.to;
  from += begin * row_.from;
  const int64_t rows = end - begin;
  if (tiled_) {
    for (int64_t c = 0; c < column_.extent; c += kTileColumns) {
      const int64_t columns = std::min(kTileColumns, column_.extent - c);
      char* t = to + c * column_.to;
      const char* f = from + c * column_.from;
      if (unit_ == 1) copy_tile<int8_t>(t, f, rows, columns);
      if (unit_ == 2) copy_tile<int16_t>(t, f, rows, columns);
      if (unit_ == 4) copy_tile<int32_t>(t, f, rows, columns);
      if (unit_ == 8) copy_tile<int64_t>(t, f, rows, columns);
    }
    return;
  }
  with_unit(unit_, [&](auto copy) {
    for (int64_t r = 0; r < rows; ++r) {
      char* t = to + r * row_.to;
      const char* f = from + r * row_.from;
      for (int64_t i = 0; i < column_.extent; ++i, t += column_.to, f += column_.from) copy(t, f);
    }
  });
}

void BoxCopy::run(char* to, const char* from) const {
  const int64_t count = outer_count_ * row_.extent * column_.extent;
  if (count == 0) return;
  if (count == 1) return copy_bytes(to, from, unit_);
  const int64_t row_blocks = (row_.extent + kTileRows - 1) / kTileRows;
  const int64_t block_bytes = std::max<int64_t>(1, kTileRows * column_.extent * unit_);
  const int64_t grain = std::max<int64_t>(1, kGrainBytes / block_bytes);
  parallel_ranges(outer_count_ * row_blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      char* t = to;
      const char* f = from;
      int64_t rest = i / row_blocks;
      for (auto axis = outer_.rbegin(); axis != outer_.rend(); ++axis) {
        t += rest % axis->extent * axis->to;
        f += rest % axis->extent * axis->from;
        rest /= axis->extent;
      }
      const int64_t row = i % row_blocks * kTileRows;
      copy_rows(t, f, row, std::min(row + kTileRows, row_.extent));
    }
  });
}

Step take_box(PrepareContext& c, std::string_view in, std::string_view out, const Box& box,
              size_t i) {
  if (on_gpu(c)) return gpu_moves.take_box(c, in, out, box, i);
  const int64_t size = size_of(c.dtype(in, i));
  const BoxCopy copy(box.extents, dense_strides(Shape(box.extents)), box.strides, size);
  return [copy, empty = box.empty(), offset = box.first * size, from = c.in_bytes(in, i),
          to = c.out_bytes(out, i)] {
    if (!empty) copy.run(to.data(), from.data() + offset);
  };
}

Step put_box(PrepareContext& c, std::string_view in, std::string_view out, const Box& box) {
  if (on_gpu(c)) return gpu_moves.put_box(c, in, out, box, {});
  const int64_t size = size_of(c.dtype(in));
  const BoxCopy copy(box.extents, box.strides, dense_strides(Shape(box.extents)), size);
  return [copy, empty = box.empty(), offset = box.first * size, bytes = c.shape(out).numel() * size,
          from = c.in_bytes(in), to = c.out_bytes(out)] {
    zero_bytes(to.data(), bytes);
    if (!empty) copy.run(to.data() + offset, from.data());
  };
}

}  // namespace flotilla::ops
