#include "flotilla/ops/tensor/move.h"

#include <algorithm>
#include <cstring>

#include "flotilla/device/cpu/parallel.h"

namespace flotilla::ops {
namespace {

// What a thread should move at least.
constexpr int64_t kGrainBytes = 64 << 10;
// Rows and columns of a tile of a transpose: both sides stay in the first cache.
constexpr int64_t kTile = 32;

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
                  const Layout& layout) {
  const int64_t bytes = layout.physical_numel(c.shape(in)) * size_of(c.dtype(in));
  c.view(in, out);
  return [bytes, from = c.in_bytes(in, 0, layout), to = c.out_bytes(out, 0, layout)] {
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

void BoxCopy::copy_rows(char* to, const char* from, int64_t begin, int64_t end) const {
  with_unit(unit_, [&](auto copy) {
    const int64_t step = tiled_ ? kTile : std::max<int64_t>(column_.extent, 1);
    for (int64_t first = 0; first < column_.extent; first += step) {
      const int64_t last = std::min(first + step, column_.extent);
      for (int64_t r = begin; r < end; ++r) {
        char* t = to + r * row_.to + first * column_.to;
        const char* f = from + r * row_.from + first * column_.from;
        for (int64_t i = first; i < last; ++i, t += column_.to, f += column_.from) copy(t, f);
      }
    }
  });
}

void BoxCopy::run(char* to, const char* from) const {
  if (outer_count_ * row_.extent * column_.extent == 1) return copy_bytes(to, from, unit_);
  const int64_t row_blocks = (row_.extent + kTile - 1) / kTile;
  const int64_t block_bytes = std::max<int64_t>(1, kTile * column_.extent * unit_);
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
      const int64_t row = i % row_blocks * kTile;
      copy_rows(t, f, row, std::min(row + kTile, row_.extent));
    }
  });
}

}  // namespace flotilla::ops
