// flotilla/ops/math/cross.cc
//
// cross: the cross product of X and Y along an axis of extent 3; `dim` 9 stands for the first such.
//
//   Out = X x Y;  dX = Y x dOut;  dY = dOut x X

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/nn/slices.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {
namespace {

constexpr int64_t kFirstOfThree = 9;

template <typename Context>
int64_t axis_of(const Context& c, const Shape& x) {
  const int64_t dim = c.template attr<int64_t>("dim");
  if (dim != kFirstOfThree) {
    check_axis("X", x, dim);
    const int64_t axis = x.axis(dim);
    require(x[axis] == 3 || x[axis] < 0, "axis {} of X, which has shape {}, must have extent 3",
            dim, x);
    return axis;
  }
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (x[axis] == 3) return axis;
  }
  refuse("cross needs an axis of extent 3, but X has shape {}", x);
}

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &y = c.in("Y").shape;
  require(x == y || ((!x.known() || !y.known()) && x.rank() == y.rank()),
          "X and Y must have one shape, but they are {} and {}", x, y);
  axis_of(c, x);
  c.out("Out") = like(c.in("X"));
}

template <typename T>
Step product(PrepareContext& c, const Slices& s, std::string_view a, std::string_view b,
             std::string_view out) {
  return [s, in_a = c.in<T>(a), in_b = c.in<T>(b), to = c.out<T>(out)] {
    const T *x = in_a.data(), *y = in_b.data();
    T* z = to.data();
    parallel_for(s.count(), 9, [=, step = s.stride](int64_t slice) {
      const int64_t i = s.begin(slice), j = i + step, k = j + step;
      z[i] = x[j] * y[k] - x[k] * y[j];
      z[j] = x[k] * y[i] - x[i] * y[k];
      z[k] = x[i] * y[j] - x[j] * y[i];
    });
  };
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  return product<T>(c, slices(x, axis_of(c, x)), "X", "Y", "Out");
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  const Slices s = slices(x, axis_of(c, x));
  std::vector<Step> steps;
  if (c.has("X@GRAD")) steps.push_back(product<T>(c, s, "Y", "Out@GRAD", "X@GRAD"));
  if (c.has("Y@GRAD")) steps.push_back(product<T>(c, s, "Out@GRAD", "X", "Y@GRAD"));
  return [steps] {
    for (const Step& step : steps) step();
  };
};

const AttrSpec kDim = {"dim", static_cast<int32_t>(kFirstOfThree),
                       "the axis of extent 3; 9: the first there is"};

const OpDef& cross = define_op({
    .type = "cross",
    .doc = "The cross product along an axis of extent 3.",
    .inputs = {{.name = "X", .doc = "tensor"}, {.name = "Y", .doc = "same shape as X"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .attrs = {kDim},
    .infer = infer,
    .grad = grad_op({"X", "Y"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(forward),
});

}  // namespace
}  // namespace flotilla::ops
