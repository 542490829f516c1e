// flotilla/ops/math/mv.cc
//
// mv: Out = X Vec, a matrix times a vector.  dX = dOut Vec^T;  dVec = X^T dOut

#include "flotilla/ops/math/product.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &vec = c.in("Vec").shape;
  require(x.rank() == 2 && vec.rank() == 1 && (x[1] == vec[0] || x[1] < 0 || vec[0] < 0),
          "mv multiplies an m x k matrix with a vector of k elements, but X is {} and Vec is {}", x,
          vec);
  c.out("Out") = VarMeta::tensor(c.dtype("X"), Shape{x[0]});
}

template <typename T>
Step multiply(PrepareContext& c, const onednn::MatmulProblem& problem, std::string_view a,
              std::string_view b, std::string_view out) {
  if (!c.has(out)) return [] {};
  return [product = Product<T>(c, problem), x = c.in<T>(a), y = c.in<T>(b), to = c.out<T>(out)] {
    product.run(x.data(), y.data(), to.data());
  };
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  return multiply<T>(c, {.m = x[0], .n = 1, .k = x[1]}, "X", "Vec", "Out");
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t m = c.shape("X")[0], k = c.shape("X")[1];
  return [dx = multiply<T>(c, {.m = m, .n = k, .k = 1}, "Out@GRAD", "Vec", "X@GRAD"),
          dvec = multiply<T>(c, {.m = k, .n = 1, .k = m, .transpose_a = true}, "X", "Out@GRAD",
                             "Vec@GRAD")] {
    dx();
    dvec();
  };
};

const OpDef& mv = define_op({
    .type = "mv",
    .doc = "A matrix times a vector.",
    .inputs = {{.name = "X", .doc = "m x k"}, {.name = "Vec", .doc = "k elements"}},
    .outputs = {{.name = "Out", .doc = "m elements"}},
    .infer = infer,
    .grad = grad_op({"X", "Vec"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
