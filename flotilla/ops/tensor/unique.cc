// flotilla/ops/tensor/unique.cc
//
// unique: the elements of a list, each once, in the order in which they first appear. Index: where
// the elements of X stand in Out. unique_with_counts: also how often each appears.
//
// With is_sorted, as 2.x writes it, unique takes tensors of any shape, and gives the elements in
// ascending order; along `axis` slices are compared, element by element.

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "flotilla/op/op_def.h"
#include "flotilla/ops/nn/slices.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/optional_slots.h"

namespace flotilla::ops {
namespace {

DType index_dtype(const InferContext& c) {
  const int code = static_cast<int>(c.attr<int64_t>("dtype"));
  require(is_paddle_dtype(code) && (from_paddle(code) == i32 || from_paddle(code) == i64),
          "dtype of {} must be the code of int32 or int64, but is {}", c.op().type(), code);
  return from_paddle(code);
}

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  require(x.shape.rank() == 1, "X must be a list, but has shape {}", x.shape);
  const DType index = index_dtype(c);
  c.out("Out") = VarMeta::tensor(x.dtype, Shape{-1});
  c.out("Index") = VarMeta::tensor(index, x.shape);
  if (c.has_out("Count")) c.out("Count") = VarMeta::tensor(index, Shape{-1});
}

template <typename T, typename I>
Step prepared(PrepareContext& c) {
  const bool counts = c.has("Count");
  return
      [n = c.shape("X")[0], x = c.in<T>("X"), out = c.late_out<T>("Out"), index = c.out<I>("Index"),
       count = counts ? c.late_out<I>("Count") : LateOut<I>(), counts] {
        std::unordered_map<T, I> places;
        std::vector<T> found;
        std::vector<I> times;
        for (int64_t i = 0; i < n; ++i) {
          const auto [place, is_new] = places.emplace(x.data()[i], static_cast<I>(found.size()));
          if (is_new) {
            found.push_back(x.data()[i]);
            times.push_back(0);
          }
          ++times[static_cast<size_t>(place->second)];
          index.data()[i] = place->second;
        }
        std::copy(found.begin(), found.end(), out.resize(Shape{std::ssize(found)}));
        if (counts) std::copy(times.begin(), times.end(), count.resize(Shape{std::ssize(found)}));
      };
}

template <typename T>
Step forward(PrepareContext& c) {
  return c.dtype("Index") == i64 ? prepared<T, int64_t>(c) : prepared<T, int32_t>(c);
}

// ---- Sorted -------------------------------------------------------------------------------------

// The axis along which slices are compared; none: all elements as one list.
template <typename Context>
std::optional<int64_t> axis_of(const Context& c, const Shape& x) {
  const Ints axes = c.template attr<Ints>("axis");
  if (axes.empty()) return {};
  require(axes.size() == 1, "axis must hold one number or none, but holds {}", axes.size());
  return x.axis(axes[0]);
}

void infer_unique(InferContext& c) {
  if (!c.attr<bool>("is_sorted")) return infer(c);
  const VarMeta& x = c.in("X");
  const DType index = index_dtype(c);
  const std::optional<int64_t> axis = axis_of(c, x.shape);
  Shape out = axis ? x.shape : Shape{-1};
  if (axis) out[*axis] = -1;
  const int64_t items = axis ? x.shape[*axis] : x.shape.numel();
  c.out("Out") = VarMeta::tensor(x.dtype, std::move(out));
  c.out("Index") = VarMeta::tensor(index, Shape{items});
  for (const char* slot : {"Indices", "Counts"}) c.out(slot) = VarMeta::tensor(index, Shape{-1});
}

// What is no number comes last.
template <typename T>
bool comes_before(T a, T b) {
  return a < b || (a == a && b != b);
}

// Compares slices i and j of `x`: below zero, zero, above zero.
template <typename T>
int compare(const Slices& s, const T* x, int64_t i, int64_t j) {
  for (int64_t outer = 0; outer < s.outer; ++outer) {
    const T *a = x + (outer * s.n + i) * s.stride, *b = x + (outer * s.n + j) * s.stride;
    for (int64_t k = 0; k < s.stride; ++k) {
      if (comes_before(a[k], b[k])) return -1;
      if (comes_before(b[k], a[k])) return 1;
    }
  }
  return 0;
}

// The different slices in order: the first place of each in X, how often it is there, and for each
// slice of X which one it is.
template <typename I>
struct Groups {
  std::vector<I> first = {}, count = {}, of = {};
};

template <typename T, typename I>
Groups<I> group(const Slices& s, const T* x) {
  std::vector<int64_t> order(static_cast<size_t>(s.n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return compare(s, x, i, j) < 0; });
  Groups<I> groups;
  groups.of.resize(order.size());
  for (const int64_t i : order) {
    if (groups.first.empty() || compare(s, x, static_cast<int64_t>(groups.first.back()), i) != 0) {
      groups.first.push_back(static_cast<I>(i));
      groups.count.push_back(0);
    }
    ++groups.count.back();
    groups.of[static_cast<size_t>(i)] = static_cast<I>(groups.first.size() - 1);
  }
  return groups;
}

template <typename T, typename I>
void copy_slices(const Slices& s, const T* x, const std::vector<I>& which, T* out) {
  for (int64_t outer = 0; outer < s.outer; ++outer) {
    for (const I i : which) {
      const T* from = x + (outer * s.n + static_cast<int64_t>(i)) * s.stride;
      out = std::copy_n(from, s.stride, out);
    }
  }
}

template <typename I>
void put(const LateOut<I>& out, const std::vector<I>& values) {
  std::copy(values.begin(), values.end(), out.resize(Shape{std::ssize(values)}));
}

template <typename T, typename I>
Step sorted(PrepareContext& c) {
  const Shape& x = c.shape("X");
  const std::optional<int64_t> axis = axis_of(c, x);
  const bool firsts = c.has("Indices"), counts = c.has("Counts");
  return [=, s = axis ? slices(x, *axis) : Slices{1, x.numel(), 1}, shape = axis ? x : Shape{-1},
          in = c.in<T>("X"), out = c.late_out<T>("Out"), index = wanted<I>(c, "Index"),
          first = firsts ? c.late_out<I>("Indices") : LateOut<I>(),
          count = counts ? c.late_out<I>("Counts") : LateOut<I>()] {
    const Groups<I> groups = group<T, I>(s, in.data());
    Shape made = shape;
    made[axis.value_or(0)] = std::ssize(groups.first);
    copy_slices(s, in.data(), groups.first, out.resize(made));
    if (index) std::copy(groups.of.begin(), groups.of.end(), index.data());
    if (firsts) put(first, groups.first);
    if (counts) put(count, groups.count);
  };
}

constexpr auto unique_forward = []<typename T>(PrepareContext& c) -> Step {
  if (!c.attr<bool>("is_sorted")) return forward<T>(c);
  const bool wide = from_paddle(static_cast<int>(c.attr<int64_t>("dtype"))) == i64;
  return wide ? sorted<T, int64_t>(c) : sorted<T, int32_t>(c);
};

// ---- Definitions --------------------------------------------------------------------------------

const std::vector<Slot> kInputs = {{.name = "X", .doc = "a list", .no_grad = true}};
const Slot kOut = {.name = "Out", .doc = "its different elements"};
const Slot kIndex = {.name = "Index", .doc = "where the elements of X stand in Out"};
const AttrSpec kDtype = {"dtype", 2, "code of the dtype of places and counts"};

const OpDef& unique = define_op({
    .type = "unique",
    .doc = "The different elements of a list, or of a tensor.",
    .inputs = kInputs,
    .outputs = {kOut,
                kIndex,
                {.name = "Indices", .doc = "where each is in X first", .optional = true},
                {.name = "Counts", .doc = "how often each appears", .optional = true}},
    .attrs = {kDtype,
              {"return_index", false, "whether Indices is wanted"},
              {"return_inverse", false, "whether Index is wanted"},
              {"return_counts", false, "whether Counts is wanted"},
              {"axis", std::vector<int32_t>{}, "along which slices are compared; none: elements"},
              {"is_sorted", false, "in ascending order, from a tensor of any shape"}},
    .infer = infer_unique,
    .kernels = kernels_for<float, double, int32_t, int64_t>(unique_forward),
});

const OpDef& unique_with_counts = define_op({
    .type = "unique_with_counts",
    .doc = "The different elements of a list, counted.",
    .inputs = kInputs,
    .outputs = {kOut, kIndex, {.name = "Count", .doc = "how often each appears"}},
    .attrs = {kDtype},
    .infer = infer,
    .kernels = kernels_for<float, double, int32_t, int64_t>(
        []<typename T>(PrepareContext& c) { return forward<T>(c); }),
});

}  // namespace
}  // namespace flotilla::ops
