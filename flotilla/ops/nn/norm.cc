// flotilla/ops/nn/norm.cc
//
// norm: Norm = sqrt(sum(X^2) + epsilon), slice by slice along `axis`, and Out = X / Norm.

#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/slices.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const int64_t axis = c.attr<int64_t>("axis");
  check_axis("X", x, axis);
  c.out("Out") = c.in("X");
  c.out("Norm") = c.in("X");
  c.out("Norm").shape[x.axis(axis)] = 1;
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Slices s = slices(c.shape("X"), c.attr<int64_t>("axis"));
  return [s, epsilon = static_cast<T>(c.attr<float>("epsilon")), in = c.in<T>("X"),
          out = c.out<T>("Out"), norm = c.has("Norm") ? c.out<T>("Norm") : Out<T>()] {
    const T* x = in.data();
    parallel_for(s.count(), s.n * 4, [&](int64_t slice) {
      T sum = epsilon;
      for (int64_t i = s.begin(slice); i < s.end(slice); i += s.stride) sum += x[i] * x[i];
      const T length = std::sqrt(sum);
      for (int64_t i = s.begin(slice); i < s.end(slice); i += s.stride)
        out.data()[i] = x[i] / length;
      if (norm) norm.data()[slice] = length;
    });
  };
};

// dX = (dOut - X * sum(dOut * X) / Norm^2) / Norm
constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Slices s = slices(c.shape("X"), c.attr<int64_t>("axis"));
  return [s, in = c.in<T>("X"), norm = c.in<T>("Norm"), dout = c.in<T>("Out@GRAD"),
          dx = c.out<T>("X@GRAD")] {
    const T* x = in.data();
    const T* dy = dout.data();
    parallel_for(s.count(), s.n * 4, [&](int64_t slice) {
      const T length = norm.data()[slice];
      T dot = 0;
      for (int64_t i = s.begin(slice); i < s.end(slice); i += s.stride) dot += dy[i] * x[i];
      dot /= length * length;
      for (int64_t i = s.begin(slice); i < s.end(slice); i += s.stride) {
        dx.data()[i] = (dy[i] - x[i] * dot) / length;
      }
    });
  };
};

const std::vector<AttrSpec> kAttrs = {{"axis", -1, "direction of a slice"},
                                      {"epsilon", 1e-10f, "keeps the norm above zero"},
                                      {"is_test", false, "of no effect"}};

const OpDef& norm = define_op({
    .type = "norm",
    .doc = "Scales each slice of X along `axis` to length one.",
    .inputs = {{"X", "tensor of rank 1 or more"}},
    .outputs = {{"Out", "like X"}, {.name = "Norm", .doc = "lengths", .no_grad = true}},
    .attrs = kAttrs,
    .infer = infer,
    .grad = grad_op({"X", "Norm"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
