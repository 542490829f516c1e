// flotilla/ops/tensor/unique.cc
//
// The different items of a tensor, each once: its elements, or its slices along `axis`.
//
//   unique, unique_with_counts   of a list, in the order in which they first appear
//   unique with is_sorted        in ascending order; slices are compared element by element
//   unique_consecutive           of items that repeat one behind the other the first
//
// Index says for each item of X which one of Out it is, Indices where each one of Out stands in X
// first, Counts how often it appears.

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/slices.h"

namespace flotilla::ops {
namespace {

enum class Order { kAsMet, kSorted, kAsTheyStand };

template <typename Context>
Order order_of(const Context& c) {
  if (c.op().type() == "unique_consecutive") return Order::kAsTheyStand;
  const bool sorted = c.op().type() == "unique" && c.template attr<bool>("is_sorted");
  return sorted ? Order::kSorted : Order::kAsMet;
}

// The axis along which slices are compared; none: all elements as one list.
template <typename Context>
std::optional<int64_t> axis_of(const Context& c, const Shape& x) {
  const Ints axes = order_of(c) == Order::kAsMet ? Ints() : c.template attr<Ints>("axis");
  if (axes.empty()) return {};
  require(axes.size() == 1, "axis must hold one number or none, but holds {}", axes.size());
  return x.axis(axes[0]);
}

template <typename Context>
DType index_dtype(const Context& c) {
  const int code = static_cast<int>(c.template attr<int64_t>("dtype"));
  require(is_paddle_dtype(code) && (from_paddle(code) == i32 || from_paddle(code) == i64),
          "dtype of {} must be the code of int32 or int64, but is {}", c.op().type(), code);
  return from_paddle(code);
}

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  require(order_of(c) != Order::kAsMet || x.shape.rank() == 1, "X must be a list, but has shape {}",
          x.shape);
  const DType index = index_dtype(c);
  const std::optional<int64_t> axis = axis_of(c, x.shape);
  Shape out = axis ? x.shape : Shape{-1};
  out[axis.value_or(0)] = -1;
  c.out("Out") = VarMeta::tensor(x.dtype, std::move(out));
  c.out("Index") = VarMeta::tensor(index, Shape{axis ? x.shape[*axis] : x.shape.numel()});
  for (const char* slot : {"Indices", "Counts", "Count"}) {
    if (c.has_out(slot)) c.out(slot) = VarMeta::tensor(index, Shape{-1});
  }
}

// The different items: the first place of each in X, how often it is there, and for each item of X
// which one it is.
template <typename I>
struct Groups {
  std::vector<I> first = {}, count = {}, of = {};

  void open(int64_t item) {
    first.push_back(static_cast<I>(item));
    count.push_back(0);
  }
  void add(int64_t item, size_t group) {
    of[static_cast<size_t>(item)] = static_cast<I>(group);
    ++count[group];
  }
};

template <typename T, typename I>
void group_as_met(int64_t n, const T* x, Groups<I>& groups) {
  std::unordered_map<T, size_t> numbers;
  for (int64_t i = 0; i < n; ++i) {
    const auto [number, is_new] = numbers.emplace(x[i], groups.first.size());
    if (is_new) groups.open(i);
    groups.add(i, number->second);
  }
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

// Items that follow each other and are equal.
template <typename T, typename I>
void group_neighbours(const Slices& s, const T* x, bool sorted, Groups<I>& groups) {
  std::vector<int64_t> order(static_cast<size_t>(s.n));
  std::iota(order.begin(), order.end(), 0);
  const auto less = [&](int64_t i, int64_t j) { return compare(s, x, i, j) < 0; };
  if (sorted) std::stable_sort(order.begin(), order.end(), less);
  for (const int64_t i : order) {
    const bool is_new =
        groups.first.empty() || compare(s, x, static_cast<int64_t>(groups.first.back()), i) != 0;
    if (is_new) groups.open(i);
    groups.add(i, groups.first.size() - 1);
  }
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
void put(const DynamicOut<I>& out, const std::vector<I>& values) {
  std::copy(values.begin(), values.end(), out.resize(Shape{std::ssize(values)}));
}

template <typename T, typename I>
Step find_items(PrepareContext& c) {
  const Shape& x = c.shape("X");
  const std::optional<int64_t> axis = axis_of(c, x);
  const char* count_slot = c.has("Count") ? "Count" : "Counts";
  const bool firsts = c.has("Indices"), counts = c.has(count_slot);
  return [=, order = order_of(c), s = axis ? slices(x, *axis) : Slices{1, x.numel(), 1},
          shape = axis ? x : Shape{-1}, in = c.in<T>("X"), out = c.dynamic_out<T>("Out"),
          index = wanted<I>(c, "Index"),
          first = firsts ? c.dynamic_out<I>("Indices") : DynamicOut<I>(),
          count = counts ? c.dynamic_out<I>(count_slot) : DynamicOut<I>()] {
    Groups<I> groups{.of = std::vector<I>(static_cast<size_t>(s.n))};
    if (order == Order::kAsMet) {
      group_as_met(s.n, in.data(), groups);
    } else {
      group_neighbours(s, in.data(), order == Order::kSorted, groups);
    }
    Shape made = shape;
    made[axis.value_or(0)] = std::ssize(groups.first);
    copy_slices(s, in.data(), groups.first, out.resize(made));
    if (index) std::copy(groups.of.begin(), groups.of.end(), index.data());
    if (firsts) put(first, groups.first);
    if (counts) put(count, groups.count);
  };
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return index_dtype(c) == i64 ? find_items<T, int64_t>(c) : find_items<T, int32_t>(c);
};

// ---- Definitions --------------------------------------------------------------------------------

void define(const std::string& type, const std::string& doc, std::vector<Slot> outputs,
            std::vector<AttrSpec> attrs) {
  outputs.insert(outputs.begin(), {.name = "Out", .doc = "its different items"});
  define_op({.type = type,
             .doc = doc,
             .inputs = {{.name = "X", .doc = "a list, or a tensor", .no_grad = true}},
             .outputs = std::move(outputs),
             .attrs = std::move(attrs),
             .infer = infer,
             .kernels = kernels_for<float, double, int32_t, int64_t>(forward)});
}

const bool kDefined = [] {
  const auto index = [](bool optional) {
    return Slot{.name = "Index", .doc = "where its items stand in Out", .optional = optional};
  };
  const Slot counts = {.name = "Counts", .doc = "how often each appears", .optional = true};
  const AttrSpec inverse = {"return_inverse", false, "whether Index is wanted"};
  const AttrSpec counted = {"return_counts", false, "whether Counts is wanted"};
  const AttrSpec axis = {"axis", std::vector<int32_t>{},
                         "along which slices are compared; none: elements"};
  const auto dtype = [](int32_t code) {
    return AttrSpec{"dtype", code, "code of the dtype of places and counts"};
  };
  define("unique", "The different elements of a list, or of a tensor.",
         {index(false),
          {.name = "Indices", .doc = "where each is in X first", .optional = true},
          counts},
         {dtype(2),
          {"return_index", false, "whether Indices is wanted"},
          inverse,
          counted,
          axis,
          {"is_sorted", false, "in ascending order, from a tensor of any shape"}});
  define("unique_with_counts", "The different elements of a list, counted.",
         {index(false), {.name = "Count", .doc = "how often each appears"}}, {dtype(2)});
  define("unique_consecutive", "The items of a tensor, those that repeat once.",
         {index(true), counts}, {inverse, counted, axis, dtype(5)});
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
