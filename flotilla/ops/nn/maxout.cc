// flotilla/ops/nn/maxout.cc
//
// maxout: the largest of each `groups` channels that follow one another (Goodfellow et al., 2013).
// The first of equal ones gets the gradient. A number is the largest until NaN comes, and NaN until
// the next number, as in Paddle; NaN gets no gradient.

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/nn/slices.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  const int64_t groups = c.attr<int64_t>("groups"), axis = c.attr<int64_t>("axis");
  check_axis("X", x.shape, axis);
  const int64_t at = x.shape.axis(axis), channels = x.shape[at];
  require(groups > 1, "groups must be above 1, but is {}", groups);
  require(channels < 0 || channels % groups == 0,
          "{} channels of X, which has shape {}, cannot be cut into groups of {}", channels,
          x.shape, groups);
  Shape out = x.shape;
  if (channels > 0) out[at] = channels / groups;
  c.out("Out") = like(x, std::move(out));
}

// Calls f(element of Out, the first of its elements in X, how far they lie apart).
template <typename F>
void for_each_group(const Slices& x, int64_t groups, F f) {
  const int64_t cut = x.n / groups;
  parallel_for(x.outer * cut, groups * x.stride, [&](int64_t i) {
    for (int64_t place = 0; place < x.stride; ++place) {
      f(i * x.stride + place, i * groups * x.stride + place, x.stride);
    }
  });
}

template <typename T>
int64_t largest(const T* x, int64_t groups, int64_t step) {
  int64_t best = 0;
  for (int64_t g = 1; g < groups; ++g) {
    if (!(x[g * step] <= x[best * step])) best = g;
  }
  return best;
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [s = slices(c.shape("X"), c.attr<int64_t>("axis")), groups = c.attr<int64_t>("groups"),
          in = c.in<T>("X"), out = c.out<T>("Out")] {
    const T* x = in.data();
    T* y = out.data();
    for_each_group(s, groups, [=](int64_t to, int64_t from, int64_t step) {
      y[to] = x[from + largest(x + from, groups, step) * step];
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [s = slices(c.shape("X"), c.attr<int64_t>("axis")), groups = c.attr<int64_t>("groups"),
          in = c.in<T>("X"), dout = c.in<T>("Out@GRAD"), din = c.out<T>("X@GRAD")] {
    const T *x = in.data(), *dy = dout.data();
    T* dx = din.data();
    for_each_group(s, groups, [=](int64_t to, int64_t from, int64_t step) {
      const int64_t best = largest(x + from, groups, step);
      const T most = x[from + best * step];
      for (int64_t g = 0; g < groups; ++g) {
        dx[from + g * step] = g == best && most == most ? dy[to] : T{0};
      }
    });
  };
};

const std::vector<AttrSpec> kAttrs = {{"groups", 0, "channels of which one stays"},
                                      {"axis", 1, "where the channels are"}};

const OpDef& maxout = define_op({
    .type = "maxout",
    .doc = "The largest of each `groups` channels that follow one another.",
    .inputs = {{.name = "X", .doc = "images"}},
    .outputs = {{.name = "Out", .doc = "X with fewer channels"}},
    .attrs = kAttrs,
    .infer = infer,
    .grad = grad_op(
        {"X", "Out"},
        {.kernels = kernels_for<float, double>(backward),
         .inputs = {{.name = "Out", .doc = "not needed", .optional = true, .shape_only = true}}}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
