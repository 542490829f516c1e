// flotilla/ops/nn/prelu.cc
//
// prelu: Out = X where X > 0, else Alpha * X. `mode` says how Alpha is shared: one number for all,
// one for each channel, or one for each element of an image.

#include <algorithm>

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
  if (mode == "all") return {};
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

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t n = c.shape("X").numel();
  return [n, sharing = sharing_of(c, c.shape("X")), x = c.in<T>("X"), alpha = c.in<T>("Alpha"),
          y = c.out<T>("Out")] {
    parallel_for(n, 4, [&](int64_t i) {
      const T value = x.data()[i];
      y.data()[i] = value > 0 ? value : alpha.data()[sharing.of(i)] * value;
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t n = c.shape("X").numel();
  return
      [n, sharing = sharing_of(c, c.shape("X")), x = c.in<T>("X"), alpha = c.in<T>("Alpha"),
       dy = c.in<T>("Out@GRAD"), dx = wanted<T>(c, "X@GRAD"), dalpha = wanted<T>(c, "Alpha@GRAD")] {
        if (dx) {
          parallel_for(n, 4, [&](int64_t i) {
            const T slope = x.data()[i] > 0 ? T{1} : alpha.data()[sharing.of(i)];
            dx.data()[i] = slope * dy.data()[i];
          });
        }
        if (!dalpha) return;
        // Threads share out Alpha; each number sums up its elements in order.
        const int64_t outer = n / std::max<int64_t>(1, sharing.count * sharing.inner);
        parallel_for(sharing.count, outer * sharing.inner * 2, [&](int64_t k) {
          double sum = 0;
          for (int64_t o = 0; o < outer; ++o) {
            const int64_t begin = (o * sharing.count + k) * sharing.inner;
            for (int64_t i = begin; i < begin + sharing.inner; ++i) {
              if (x.data()[i] <= 0) sum += static_cast<double>(x.data()[i] * dy.data()[i]);
            }
          }
          dalpha.data()[k] = static_cast<T>(sum);
        });
      };
};

const OpDef& prelu = define_op({
    .type = "prelu",
    .doc = "X where it is positive, else X times a slope that is trained.",
    .inputs = {{"X", "any tensor"}, {"Alpha", "slopes"}},
    .outputs = {{"Out", "like X"}},
    .attrs = {{"mode", "all", "all, channel or element"}, {"data_format", "NCHW", "NCHW or NHWC"}},
    .infer = infer,
    .grad = grad_op({"X", "Alpha"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
