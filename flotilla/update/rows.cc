#include "flotilla/update/rows.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace flotilla::update {
namespace {

template <typename T>
int64_t merge(std::span<const int64_t> rows, std::span<const T> values, int64_t width,
              std::span<int64_t> merged_rows, std::span<T> merged, std::span<int64_t> order) {
  std::iota(order.begin(), order.end(), int64_t{0});
  // Ties go by position, so the sums do not depend on how the sort works.
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const int64_t row_a = rows[static_cast<size_t>(a)], row_b = rows[static_cast<size_t>(b)];
    return row_a != row_b ? row_a < row_b : a < b;
  });
  int64_t count = 0;
  for (const int64_t source : order) {
    const int64_t row = rows[static_cast<size_t>(source)];
    const T* from = values.data() + source * width;
    if (count > 0 && merged_rows[static_cast<size_t>(count - 1)] == row) {
      T* to = merged.data() + (count - 1) * width;
      for (int64_t i = 0; i < width; ++i) to[i] += from[i];
    } else {
      std::copy_n(from, width, merged.data() + count * width);
      merged_rows[static_cast<size_t>(count++)] = row;
    }
  }
  return count;
}

}  // namespace

int64_t merge_rows(std::span<const int64_t> rows, std::span<const float> values, int64_t width,
                   std::span<int64_t> merged_rows, std::span<float> merged,
                   std::span<int64_t> order) {
  return merge(rows, values, width, merged_rows, merged, order);
}

int64_t merge_rows(std::span<const int64_t> rows, std::span<const double> values, int64_t width,
                   std::span<int64_t> merged_rows, std::span<double> merged,
                   std::span<int64_t> order) {
  return merge(rows, values, width, merged_rows, merged, order);
}

}  // namespace flotilla::update
