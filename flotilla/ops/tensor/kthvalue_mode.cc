// flotilla/ops/tensor/kthvalue_mode.cc
//
// One element of each slice along an axis, and where it stands:
//
//   kthvalue   the k-th smallest. Of equal elements the first counts as the smaller one. (Paddle
//              promises no order: its places of equal elements are what a partial sort leaves.)
//   mode       the most frequent, of several the smallest; its last place

#include <algorithm>
#include <numeric>

#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/tensor/places.h"

namespace flotilla::ops {
namespace {

bool is_kth(const Op& op) { return op.type().starts_with("kthvalue"); }

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  const int64_t axis = c.attr<int64_t>("axis");
  const Shape out = without_axis(x.shape, axis, false, c.attr<bool>("keepdim"));
  const int64_t n = slices(x.shape, axis).n;
  const int64_t k = is_kth(c.op()) ? c.attr<int64_t>("k") : 1;
  require(k >= 1, "k counts from 1, but is {}", k);
  require(n < 0 || k <= n, "k must lie in [1, {}] because X has shape {}, but k is {}", n, x.shape,
          k);
  c.out("Out") = VarMeta::tensor(x.dtype, out);
  c.out("Indices") = VarMeta::tensor(i64, out);
}

// The place of the most frequent element; sorts `places`.
template <typename T>
int64_t most_frequent(const PlaceOrder<T>& order, int64_t* places, int64_t n) {
  std::sort(places, places + n, order);
  int64_t best = 0, most = 0;
  for (int64_t begin = 0, i = 0; i < n; ++i) {
    const bool same =
        !before(order.x[places[begin] * order.stride], order.x[places[i] * order.stride], false);
    if (!same) begin = i;
    if (i - begin + 1 <= most) continue;
    most = i - begin + 1;
    best = places[i];
  }
  return best;
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Slices s = slices(c.shape("X"), c.attr<int64_t>("axis"));
  const int64_t k = is_kth(c.op()) ? c.attr<int64_t>("k") : 0;
  return [s, k, in = c.in<T>("X"), out = c.out<T>("Out"), indices = c.out<int64_t>("Indices"),
          work = c.workspace<int64_t>(s.count() * s.n)] {
    parallel_for(s.count(), s.n * 8, [&](int64_t slice) {
      const PlaceOrder<T> order{in.data() + s.begin(slice), s.stride, false};
      int64_t* places = work.data() + slice * s.n;
      std::iota(places, places + s.n, int64_t{0});
      if (k > 0) std::nth_element(places, places + k - 1, places + s.n, order);
      const int64_t found = k > 0 ? places[k - 1] : most_frequent(order, places, s.n);
      indices.data()[slice] = found;
      out.data()[slice] = order.x[found * s.stride];
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return give_back<T>(c, slices(c.shape("X"), c.attr<int64_t>("axis")), 1);
};

const OpDef& define(const std::string& type, const std::string& doc, std::vector<AttrSpec> attrs) {
  attrs.insert(attrs.end(), {{"axis", int32_t{-1}, "direction of a slice"},
                             {"keepdim", false, "the axis stays, with extent 1"}});
  return define_op(
      {.type = type,
       .doc = doc,
       .inputs = {{.name = "X", .doc = "tensor"}},
       .outputs = {{.name = "Out", .doc = "X without the axis"},
                   constant("Indices", "int64: where the elements stand along the axis")},
       .attrs = std::move(attrs),
       .infer = infer,
       .grad = float_grad({shape_of("X"), "Indices"}, backward),
       .kernels = kernels_for<float, double, int32_t, int64_t>(forward)});
}

const OpDef& kthvalue =
    define("kthvalue", "The k-th smallest element of each slice, and its index.",
           {{"k", int32_t{1}, "which one, from 1 on"}});
const OpDef& mode = define("mode", "The most frequent element of each slice, and its index.", {});

}  // namespace
}  // namespace flotilla::ops
