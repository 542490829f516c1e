// searchsorted: where Values would stand in a sorted row.

#include <algorithm>

#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/tensor/places.h"

namespace flotilla::ops {
namespace {

void infer_search(InferContext& c) {
  const VarMeta &sorted = c.in("SortedSequence"), &values = c.in("Values");
  require(sorted.shape.rank() > 0 && sorted.dtype == values.dtype,
          "SortedSequence must hold rows of the dtype of Values, but they are {}{} and {}{}",
          sorted.dtype, sorted.shape, values.dtype, values.shape);
  if (sorted.shape.rank() > 1) {
    Shape rows = values.shape;
    if (rows.rank() > 0) rows[rows.rank() - 1] = sorted.shape[sorted.shape.rank() - 1];
    require(fits(rows, sorted.shape),
            "SortedSequence must have one row, or the rows of Values, but they are {} and {}",
            sorted.shape, values.shape);
  }
  c.out("Out") = VarMeta::tensor(c.attr<bool>("out_int32") ? i32 : i64, values.shape);
}

template <typename T, typename Place>
Step search(PrepareContext& c) {
  const Shape &sorted = c.shape("SortedSequence"), &values = c.shape("Values");
  const int64_t last = values.rank() - 1, n = sorted[sorted.rank() - 1];
  const int64_t width = sorted.rank() == 1 ? values.numel() : values[last];
  return [n, width, count = values.numel(), right = c.attr<bool>("right"),
          rows = c.in<T>("SortedSequence"), in = c.in<T>("Values"), out = c.out<Place>("Out")] {
    // NaN counts as the largest.
    const auto less = [](T a, T b) { return before(a, b, false); };
    parallel_for(count, 64, [&](int64_t i) {
      const T *row = rows.data() + i / width * n, value = in.data()[i];
      const T* found = right ? std::upper_bound(row, row + n, value, less)
                             : std::lower_bound(row, row + n, value, less);
      out.data()[i] = static_cast<Place>(found - row);
    });
  };
}

const OpDef& searchsorted = define_op({
    .type = "searchsorted",
    .doc = "Where Values would stand in sorted rows.",
    .inputs = {{.name = "SortedSequence", .doc = "rows in ascending order", .no_grad = true},
               {.name = "Values", .doc = "tensor", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "places, same shape as Values"}},
    .attrs = {{"out_int32", false, "places are i32, otherwise i64"},
              {"right", false, "after elements that are equal, otherwise before them"}},
    .infer = infer_search,
    .kernels = kernels_for<float, double, int32_t, int64_t>([]<typename T>(PrepareContext& c) {
      return c.dtype("Out") == i32 ? search<T, int32_t>(c) : search<T, int64_t>(c);
    }),
});

}  // namespace
}  // namespace flotilla::ops
