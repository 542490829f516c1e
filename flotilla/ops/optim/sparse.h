// flotilla/ops/optim/sparse.h
//
// Optimizers on sparse gradients: a few rows of a tall parameter.

#pragma once

#include <span>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/update/rows.h"

namespace flotilla::ops {

// Refuses a row that the parameter does not have.
inline void check_rows(std::span<const int64_t> rows, int64_t height) {
  for (const int64_t row : rows) {
    require(0 <= row && row < height,
            "the gradient holds row {}, but the parameter has the rows 0 to {}", row, height - 1);
  }
}

// A sparse gradient whose repeated rows are added up, sorted by row number.
template <typename T>
class MergedRows {
 public:
  MergedRows() = default;
  MergedRows(PrepareContext& c, std::string_view slot)
      : grad_(c.sparse_in<T>(slot)),
        rows_(c.workspace<int64_t>(grad_.count)),
        order_(c.workspace<int64_t>(grad_.count)),
        values_(c.workspace<T>(grad_.count * grad_.width)) {}

  int64_t width() const { return grad_.width; }
  int64_t height() const { return grad_.height; }

  // Calls row(r, gradient of r) for each row that is there, and gap(begin, end) for each range of
  // rows that is not. Different rows may come at the same time.
  template <typename Row, typename Gap>
  void for_each(Row row, Gap gap) const {
    const size_t count = static_cast<size_t>(grad_.count);
    const std::span<const int64_t> given(grad_.rows.data(), count);
    check_rows(given, grad_.height);
    const int64_t n = update::merge_rows(
        given, std::span<const T>(grad_.value.data(), count * static_cast<size_t>(width())),
        width(), {rows_.data(), count}, {values_.data(), count * static_cast<size_t>(width())},
        {order_.data(), count});
    if (n == 0) return gap(0, height());
    const int64_t* rows = rows_.data();
    const int64_t cost = width() + (height() / n) * width();
    const int64_t grain = cost >= kGrainOperations ? 1 : kGrainOperations / cost + 1;
    parallel_ranges(n, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t before = i == 0 ? 0 : rows[i - 1] + 1;
        if (before < rows[i]) gap(before, rows[i]);
        row(rows[i],
            std::span<const T>(values_.data() + i * width(), static_cast<size_t>(width())));
        if (i == n - 1 && rows[i] + 1 < height()) gap(rows[i] + 1, height());
      }
    });
  }

 private:
  SparseIn<T> grad_ = {};
  Out<int64_t> rows_, order_;
  Out<T> values_;
};

}  // namespace flotilla::ops
