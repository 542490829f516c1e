// flotilla/ops/tensor/kthvalue.cc
//
// kthvalue: the k-th smallest element of each slice along an axis, and where it stands. Of equal
// elements the first counts as the smaller one. (Paddle promises no order: its places of equal
// elements are what a partial sort leaves.)

#include <algorithm>
#include <numeric>

#include "flotilla/ops/tensor/places.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  const int64_t k = c.attr<int64_t>("k"), axis = c.attr<int64_t>("axis");
  const Shape out = without_axis(x.shape, axis, false, c.attr<bool>("keepdim"));
  const int64_t n = slices(x.shape, axis).n;
  require(k >= 1, "k counts from 1, but is {}", k);
  require(n < 0 || k <= n, "k must lie in [1, {}] because X has shape {}, but k is {}", n, x.shape,
          k);
  c.out("Out") = VarMeta::tensor(x.dtype, out);
  c.out("Indices") = VarMeta::tensor(i64, out);
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Slices s = slices(c.shape("X"), c.attr<int64_t>("axis"));
  return [s, k = c.attr<int64_t>("k"), in = c.in<T>("X"), out = c.out<T>("Out"),
          indices = c.out<int64_t>("Indices"), work = c.workspace<int64_t>(s.count() * s.n)] {
    parallel_for(s.count(), s.n * 8, [&](int64_t slice) {
      const T* x = in.data() + s.begin(slice);
      int64_t* places = work.data() + slice * s.n;
      std::iota(places, places + s.n, int64_t{0});
      std::nth_element(places, places + k - 1, places + s.n, PlaceOrder<T>{x, s.stride, false});
      indices.data()[slice] = places[k - 1];
      out.data()[slice] = x[places[k - 1] * s.stride];
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return give_back<T>(c, slices(c.shape("X"), c.attr<int64_t>("axis")), 1);
};

const OpDef& kthvalue = define_op({
    .type = "kthvalue",
    .doc = "The k-th smallest element of each slice, and where it stands.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "X without the axis"},
                {.name = "Indices",
                 .doc = "int64: where the elements stand along the axis",
                 .no_grad = true}},
    .attrs = {{"k", int32_t{1}, "which one, from 1 on"},
              {"axis", int32_t{-1}, "direction of a slice"},
              {"keepdim", false, "the axis stays, with extent 1"}},
    .infer = infer,
    .grad = grad_op({shape_of("X"), "Indices"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(forward),
});

}  // namespace
}  // namespace flotilla::ops
