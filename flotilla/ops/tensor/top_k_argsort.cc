// flotilla/ops/tensor/top_k_argsort.cc
//
// top_k, top_k_v2 and argsort: the largest (or smallest) elements of each slice along an axis, in
// order, and where they stand. Of equal elements the first comes first. NaN counts as the largest.

#include <algorithm>
#include <numeric>

#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/tensor/places.h"
#include "flotilla/ops/tensor/top_k.h"

namespace flotilla::ops {
namespace {

// Up to this k elements are inserted into a sorted list; above it the slice is sorted.
constexpr int64_t kInsertion = 32;

// Writes the first k of a slice to `places`, in order.
template <typename T>
void select(const T* x, int64_t n, int64_t stride, int64_t k, bool largest, int64_t* places) {
  int64_t found = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T value = x[i * stride];
    if (found == k && !before(value, x[places[k - 1] * stride], largest)) continue;
    int64_t at = found < k ? found++ : k - 1;
    for (; at > 0 && before(value, x[places[at - 1] * stride], largest); --at) {
      places[at] = places[at - 1];
    }
    places[at] = i;
  }
}

template <typename T>
void sort_places(const T* x, int64_t n, int64_t stride, bool largest, int64_t* places) {
  std::iota(places, places + n, int64_t{0});
  std::sort(places, places + n, PlaceOrder<T>{x, stride, largest});
}

// Out and Indices hold k for each slice of X.
template <typename T>
Step pick(PrepareContext& c, int64_t axis, int64_t k, bool largest) {
  const Slices s = slices(c.shape("X"), axis);
  const bool inserts = k <= kInsertion;
  const int64_t room = inserts ? k : s.n;
  const bool wants_out = c.has("Out");
  return [=, in = c.in<T>("X"), out = wants_out ? c.out<T>("Out") : Out<T>(),
          indices = c.out<int64_t>("Indices"), work = c.workspace<int64_t>(s.count() * room)] {
    const T* x = in.data();
    T* values = wants_out ? out.data() : nullptr;
    int64_t* to = indices.data();
    int64_t* workspace = work.data();
    parallel_for(s.count(), s.n * 4, [=](int64_t slice) {
      const T* from = x + s.begin(slice);
      int64_t* places = workspace + slice * room;
      if (inserts) {
        select(from, s.n, s.stride, k, largest, places);
      } else {
        sort_places(from, s.n, s.stride, largest, places);
      }
      const int64_t first = slice / s.stride * k * s.stride + slice % s.stride;
      for (int64_t i = 0; i < k; ++i) {
        to[first + i * s.stride] = places[i];
        if (values != nullptr) values[first + i * s.stride] = from[places[i] * s.stride];
      }
    });
  };
}

void infer_top_k(InferContext& c) {
  const VarMeta& x = c.in("X");
  VarMeta out = like(x);
  const std::optional<int64_t> k = known_int(c, kTopCount);
  if (x.shape.rank() > 0) {
    const int64_t axis = x.shape.axis(top_k_axis(c));
    require(!k || (*k >= 1 && (x.shape[axis] < 0 || *k <= x.shape[axis])),
            "k must lie in [1, {}] because X has shape {}, but k is {}", x.shape[axis], x.shape,
            k.value_or(0));
    out.shape[axis] = k.value_or(-1);
  } else {
    require(!k || *k == 1, "k must be 1 because X is a number, but k is {}", k.value_or(0));
  }
  c.out("Indices") = out;
  c.out("Indices").dtype = i64;
  c.out("Out") = std::move(out);
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const bool largest = !top_k_takes_axis(c) || c.attr<bool>("largest");
  return pick<T>(c, top_k_axis(c), known_int(c, kTopCount), largest);
};

void infer_argsort(InferContext& c) {
  const VarMeta& x = c.in("X");
  if (x.shape.rank() > 0) x.shape.axis(c.attr<int64_t>("axis"));
  c.out("Out") = like(x);
  c.out("Indices") = like(x);
  c.out("Indices").dtype = i64;
}

constexpr auto argsort_forward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t axis = c.attr<int64_t>("axis");
  return pick<T>(c, axis, slices(c.shape("X"), axis).n, c.attr<bool>("descending"));
};

void infer_grad(InferContext& c) {
  const Shape &x = c.in("X").shape, &indices = c.in("Indices").shape;
  bool fits = x.rank() == indices.rank();
  for (int64_t a = 0; fits && a < x.rank(); ++a) {
    fits = a == x.axis(top_k_axis(c)) || x[a] == indices[a] || x[a] < 0 || indices[a] < 0;
  }
  require(fits, "Indices must have the extents of X save along axis {}, but is {} and X is {}",
          top_k_axis(c), indices, x);
  c.out("X@GRAD") = like(c.in("X"));
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return give_back<T>(c, slices(c.shape("X"), top_k_axis(c)),
                      slices(c.shape("Indices"), top_k_axis(c)).n);
};

void define(const std::string& type, const std::string& doc, std::vector<Slot> inputs,
            std::vector<AttrSpec> attrs, void (*infer)(InferContext&),
            std::vector<Kernel> kernels) {
  define_op({.type = type,
             .doc = doc,
             .inputs = std::move(inputs),
             .outputs = {{.name = "Out", .doc = "the elements"},
                         constant("Indices", "int64: where they stand along the axis")},
             .attrs = std::move(attrs),
             .infer = infer,
             .grad = grad_op(
                 {shape_of("X"), "Indices"},
                 {.kernels = kernels_for<float, double, int32_t, int64_t>(backward),
                  .infer = infer_grad,
                  .inputs = {{.name = "Out@GRAD", .doc = "gradient of Out", .like = "Indices"}}}),
             .kernels = std::move(kernels),
             .dtype_slot = "X"});
}

const bool kDefined = [] {
  const Slot x = {.name = "X", .doc = "tensor"};
  const Slot count = {.name = "K", .doc = "instead of `k`", .optional = true, .no_grad = true};
  const AttrSpec k = {"k", int32_t{1}, "how many elements of each slice"};
  const AttrSpec axis = {"axis", int32_t{-1}, "direction of a slice"};
  define("top_k", "The k largest elements of each row, in descending order.", {x, count}, {k},
         infer_top_k, kernels_for<float, double, int32_t, int64_t>(forward));
  define("top_k_v2", "The k largest or smallest elements of each slice, in order.", {x, count},
         {k,
          axis,
          {"largest", true, "largest first; otherwise smallest first"},
          {"sorted", true, "whether the order matters; they always are in order"}},
         infer_top_k, kernels_for<float, double, int32_t, int64_t>(forward));
  define("argsort", "The elements of each slice in order.", {x},
         {axis, {"descending", false, "largest first"}}, infer_argsort,
         kernels_for<float, double, int32_t, int64_t>(argsort_forward));
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
