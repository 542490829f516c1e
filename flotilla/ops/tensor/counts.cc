// flotilla/ops/tensor/counts.cc
//
// Numbers sorted into places:
//
//   bincount       how often each whole number from 0 on is there, or the sum of its weights
//   histogram      how many elements lie in each of `bins` equal parts of [min, max]
//   searchsorted   where Values would stand in a sorted row

#include <algorithm>
#include <cmath>

#include "flotilla/base/element_count.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/optional_slots.h"
#include "flotilla/ops/tensor/places.h"

namespace flotilla::ops {
namespace {

template <typename F>
std::vector<Kernel> arithmetic(F f) {
  return kernels_for<float, double, int32_t, int64_t>(f);
}

// ---- bincount -----------------------------------------------------------------------------------

// Weights of float32 are added up as such, others as float64.
void infer_bincount(InferContext& c) {
  const Shape& x = c.in("X").shape;
  require(x.rank() == 1, "bincount counts the elements of a vector, but X has shape {}", x);
  require(c.attr<int64_t>("minlength") >= 0, "minlength must not be negative, but is {}",
          c.attr<int64_t>("minlength"));
  DType dtype = i64;
  if (c.has_in("Weights")) {
    require(fits(c.in("Weights").shape, x), "Weights must have the shape {} of X, but has {}", x,
            c.in("Weights").shape);
    dtype = c.dtype("Weights") == f32 ? f32 : f64;
  }
  c.out("Out") = VarMeta::tensor(dtype, {-1});
}

template <typename T, typename W, typename Sum>
Step add_up(PrepareContext& c) {
  return [n = c.shape("X").numel(), least = c.attr<int64_t>("minlength"), in = c.in<T>("X"),
          weights = given<W>(c, "Weights"), out = c.dynamic_out<Sum>("Out")] {
    const T* x = in.data();
    int64_t length = n == 0 ? 0 : least;
    for (int64_t i = 0; i < n; ++i) {
      require(0 <= x[i] && x[i] < kMaxElements,
              "bincount counts numbers from 0 to 2^55, but the one at place {} is {}", i, x[i]);
      length = std::max(length, int64_t{x[i]} + 1);
    }
    Sum* sums = out.resize({length});
    std::fill_n(sums, length, Sum{0});
    for (int64_t i = 0; i < n; ++i) sums[x[i]] += weights ? static_cast<Sum>(weights.data()[i]) : 1;
  };
}

constexpr auto bincount_forward = []<typename T>(PrepareContext& c) -> Step {
  if (!c.has("Weights")) return add_up<T, int64_t, int64_t>(c);
  if (c.dtype("Weights") == f32) return add_up<T, float, float>(c);
  return visit_dtype(c.dtype("Weights"), [&](auto w) { return add_up<T, decltype(w), double>(c); });
};

const OpDef& bincount = define_op({
    .type = "bincount",
    .doc = "How often each whole number from 0 on is there.",
    .inputs = {{.name = "X", .doc = "a vector of whole numbers", .no_grad = true},
               {.name = "Weights", .doc = "what each counts", .optional = true, .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "a vector"}},
    .attrs = {{"minlength", 0, "elements that Out has at least"}},
    .infer = infer_bincount,
    .kernels = kernels_for<int32_t, int64_t>(bincount_forward),
    .dtype_slot = "X",
});

// ---- histogram ----------------------------------------------------------------------------------

void infer_histogram(InferContext& c) {
  const int64_t bins = c.attr<int64_t>("bins"), min = c.attr<int64_t>("min"),
                max = c.attr<int64_t>("max");
  require(bins > 0, "bins must be positive, but is {}", bins);
  require(min <= max, "max must not lie below min, but they are {} and {}", max, min);
  c.in("X");
  c.out("Out") = VarMeta::tensor(i64, {bins});
}

// [min, max], or where both are equal from the least element to the largest one; never empty.
template <typename T>
std::pair<double, double> range_of(const T* x, int64_t n, int64_t min, int64_t max) {
  std::pair<double, double> range(min, max);
  if (min == max && n > 0) {
    const auto [least, most] = std::minmax_element(x, x + n);
    range = {static_cast<double>(*least), static_cast<double>(*most)};
  }
  require(std::isfinite(range.first) && std::isfinite(range.second),
          "a histogram needs finite ends, but they are {} and {}", range.first, range.second);
  if (range.first == range.second) return {range.first - 1, range.second + 1};
  return range;
}

constexpr auto histogram_forward = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("X").numel(), bins = c.attr<int64_t>("bins"), min = c.attr<int64_t>("min"),
          max = c.attr<int64_t>("max"), in = c.in<T>("X"), out = c.out<int64_t>("Out")] {
    const auto [low, high] = range_of(in.data(), n, min, max);
    std::fill_n(out.data(), bins, 0);
    for (int64_t i = 0; i < n; ++i) {
      const double x = static_cast<double>(in.data()[i]);
      if (!(low <= x && x <= high)) continue;
      const double part = (x - low) / (high - low) * static_cast<double>(bins);
      ++out.data()[std::min(static_cast<int64_t>(part), bins - 1)];
    }
  };
};

const OpDef& histogram = define_op({
    .type = "histogram",
    .doc = "How many elements lie in each of several equal parts of a range.",
    .inputs = {{.name = "X", .doc = "tensor", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "i64, a number for each part"}},
    .attrs = {{"bins", int64_t{100}, "parts"},
              {"min", 0, "where the first one begins"},
              {"max", 0, "where the last one ends; as `min`: the range is that of X"}},
    .infer = infer_histogram,
    .kernels = arithmetic(histogram_forward),
});

// ---- searchsorted -------------------------------------------------------------------------------

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
              {"right", false, "behind elements that are equal, otherwise before them"}},
    .infer = infer_search,
    .kernels = arithmetic([]<typename T>(PrepareContext& c) {
      return c.dtype("Out") == i32 ? search<T, int32_t>(c) : search<T, int64_t>(c);
    }),
});

}  // namespace
}  // namespace flotilla::ops
