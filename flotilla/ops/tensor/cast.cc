// flotilla/ops/tensor/cast.cc
//
// cast: the elements of X as another dtype. Floats are cut off towards zero, a bool is "not zero".

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/op/grad_context.h"
#include "flotilla/ops/common/dtype_attr.h"
#include "flotilla/ops/common/known_value.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  VarMeta out = like(c.in("X"));
  out.dtype = dtype_attr(c, "out_dtype");
  remember_same(out, c.in("X"));
  c.out("Out") = std::move(out);
}

template <typename To, typename From>
To converted(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else {
    return static_cast<To>(x);
  }
}

template <typename From>
Step forward(PrepareContext& c) {
  if (c.dtype("Out") == c.dtype("X")) return pass_through(c, "X", "Out", c.layout("X"));
  const Layout layout = c.layout("X");
  const int64_t n = layout.physical_numel(c.shape("X"));
  return visit_dtype(c.dtype("Out"), [&](auto to) -> Step {
    using To = decltype(to);
    if constexpr (sizeof(To) == sizeof(From)) c.in_place("X", "Out");
    return [n, in = c.in<From>("X", 0, layout), out = c.out<To>("Out", 0, layout)] {
      const From* x = in.data();
      To* y = out.data();
      parallel_ranges(n, kGrainOperations, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) y[i] = converted<To>(x[i]);
      });
    };
  });
}

void grad(GradContext& g) {
  hand_back(g, "cast",
            {{"in_dtype", g.op().attr<int32_t>("out_dtype")},
             {"out_dtype", to_paddle(g.block().var(g.op().input("X")).dtype)}});
}

const OpDef& cast = define_op({
    .type = "cast",
    .doc = "The elements of X as another dtype.",
    .inputs = {{.name = "X", .doc = "tensor of any dtype"}},
    .outputs = {{.name = "Out", .doc = "same shape, dtype `out_dtype`"}},
    .attrs = {{"in_dtype", int32_t{-1}, "dtype of X; taken from X itself"},
              {"out_dtype", int32_t{5}, "code of the dtype of Out"}},
    .infer = infer,
    .grad = custom_grad(grad),
    .kernels = kernels_for_all([]<typename T>(PrepareContext& c) { return forward<T>(c); }),
});

}  // namespace
}  // namespace flotilla::ops
