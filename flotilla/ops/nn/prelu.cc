// flotilla/ops/nn/prelu.cc
//
// prelu: Out = X where X > 0, else Alpha * X. `mode` says how Alpha is shared: one number for all,
// one for each channel, or one for each element of an image.

#include <algorithm>

#include "flotilla/base/half.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/nn/channels.h"

namespace flotilla::ops {
namespace {

// Element i of X has the number i / inner % count of Alpha.
struct Sharing {
  int64_t count = 1, inner = 1;

  int64_t of(int64_t i) const { return i / inner % count; }
};

template <typename Context>
Sharing sharing_of(const Context& c, const Shape& x) {
  const auto mode = c.template attr<std::string>("mode");
  if (mode == "all") return {1, x.numel()};
  if (mode == "element") return {x.numel(1, x.rank()), 1};
  require(mode == "channel", "mode must be all, channel or element, but is \"{}\"", mode);
  const DataFormat format(c.template attr<std::string>("data_format"));
  const int64_t axis = format.channel_axis(x.rank());
  require(axis < x.rank(), "X of shape {} has no channels", x);
  return {x[axis], x.numel(axis + 1, x.rank())};
}

void infer(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const Shape& alpha = c.in("Alpha").shape;
  const Sharing sharing = sharing_of(c, x);
  require(alpha.numel() == sharing.count || sharing.count < 0 || !alpha.known(),
          "Alpha must hold {} numbers because X has shape {} and mode is {}, but has shape {}",
          sharing.count, x, c.attr<std::string>("mode"), alpha);
  c.out("Out") = c.in("X");
}

// Calls f(element of X, its slope) for all, in runs that share one, or take one after the other.
template <typename T, typename F>
void for_each_element(int64_t n, const Sharing& sharing, const T* alpha, F f) {
  const int64_t run = sharing.inner > 1 ? sharing.inner : sharing.count;
  parallel_ranges(n, kGrainOperations / 4, [=](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t stop = std::min(end, (begin / run + 1) * run);
      int64_t k = sharing.of(begin);
      if (sharing.inner > 1) {
        const auto slope = widen(alpha[k]);
        for (int64_t i = begin; i < stop; ++i) f(i, slope);
      } else {
        for (int64_t i = begin; i < stop; ++i) f(i, widen(alpha[k++]));
      }
      begin = stop;
    }
  });
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t n = c.shape("X").numel();
  return [n, sharing = sharing_of(c, c.shape("X")), in = c.in<T>("X"), alpha = c.in<T>("Alpha"),
          out = c.out<T>("Out")] {
    const T* x = in.data();
    T* y = out.data();
    for_each_element(n, sharing, alpha.data(), [=](int64_t i, auto slope) {
      const auto value = widen(x[i]);
      y[i] = narrow<T>(value > 0 ? value : slope * value);
    });
  };
};

// Threads share out Alpha; each number sums up its elements in order.
template <typename T>
void slope_gradients(int64_t n, const Sharing& sharing, const T* x, const T* dy, T* dalpha) {
  const int64_t outer = n / std::max<int64_t>(1, sharing.count * sharing.inner);
  parallel_for(sharing.count, outer * sharing.inner * 2, [=](int64_t k) {
    double sum = 0;
    for (int64_t o = 0; o < outer; ++o) {
      const int64_t begin = (o * sharing.count + k) * sharing.inner;
      for (int64_t i = begin; i < begin + sharing.inner; ++i) {
        const auto value = widen(x[i]);
        if (value <= 0) sum += static_cast<double>(value * widen(dy[i]));
      }
    }
    dalpha[k] = narrow<T>(static_cast<Compute<T>>(sum));
  });
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t n = c.shape("X").numel();
  return [n, sharing = sharing_of(c, c.shape("X")), in = c.in<T>("X"), alpha = c.in<T>("Alpha"),
          dout = c.in<T>("Out@GRAD"), din = wanted<T>(c, "X@GRAD"),
          dalpha = wanted<T>(c, "Alpha@GRAD")] {
    const T *x = in.data(), *dy = dout.data();
    if (din) {
      T* dx = din.data();
      for_each_element(n, sharing, alpha.data(), [=](int64_t i, auto slope) {
        const auto g = widen(dy[i]);
        dx[i] = narrow<T>(widen(x[i]) > 0 ? g : slope * g);
      });
    }
    if (dalpha) slope_gradients(n, sharing, x, dy, dalpha.data());
  };
};

const OpDef& prelu = define_op({
    .type = "prelu",
    .doc = "X where it is positive, else X times a slope that is trained.",
    .inputs = {{"X", "any tensor"}, {"Alpha", "slopes"}},
    .outputs = {{"Out", "like X"}},
    .attrs = {{"mode", "all", "all, channel or element"}, {"data_format", "NCHW", "NCHW or NHWC"}},
    .infer = infer,
    .grad =
        grad_op({"X", "Alpha"}, {.kernels = kernels_for<float, double, Half, BFloat16>(backward)}),
    .kernels = kernels_for<float, double, Half, BFloat16>(forward),
});

}  // namespace
}  // namespace flotilla::ops
