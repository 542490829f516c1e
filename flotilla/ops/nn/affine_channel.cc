// flotilla/ops/nn/affine_channel.cc
//
// affine_channel: each channel of images times a number of Scale, plus one of Bias. A batch norm
// that no longer learns.

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/nn/channels.h"
#include "flotilla/ops/nn/slices.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/optional_slots.h"

namespace flotilla::ops {
namespace {

// The channels as an axis of X.
template <typename Context>
int64_t axis_of(const Context& c, const Shape& x) {
  return DataFormat(c.template attr<std::string>("data_layout")).channel_axis(x.rank());
}

void check_channels(const InferContext& c, std::string_view slot) {
  const Shape& x = c.in("X").shape;
  require(x.rank() >= 2, "X must have rank 2 or more, but has shape {}", x);
  const int64_t channels = x[axis_of(c, x)], found = c.in(slot).shape.numel();
  require(channels < 0 || found < 0 || found == channels,
          "{} must hold a number for each of {} channels, but has shape {}", slot, channels,
          c.in(slot).shape);
}

void infer(InferContext& c) {
  for (const std::string_view slot : {"Scale", "Bias"}) check_channels(c, slot);
  c.out("Out") = like(c.in("X"));
}

// Calls f(channel, element) for all elements: those of a channel one after the other, in one
// thread.
template <typename F>
void for_each_channel(const Slices& s, F f) {
  parallel_for(s.n, s.count() * 2, [&](int64_t channel) {
    for (int64_t image = 0; image < s.outer; ++image) {
      const int64_t begin = (image * s.n + channel) * s.stride;
      for (int64_t i = begin; i < begin + s.stride; ++i) f(channel, i);
    }
  });
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  return [s = slices(x, axis_of(c, x)), in = c.in<T>("X"), scale = c.in<T>("Scale"),
          bias = c.in<T>("Bias"), out = c.out<T>("Out")] {
    for_each_channel(s, [&](int64_t channel, int64_t i) {
      out.data()[i] = in.data()[i] * scale.data()[channel] + bias.data()[channel];
    });
  };
};

void infer_grad(InferContext& c) {
  check_channels(c, "Scale");
  c.out("X@GRAD") = like(c.in("X"));
  c.out("Scale@GRAD") = c.out("Bias@GRAD") = like(c.in("Scale"));
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  return [s = slices(x, axis_of(c, x)), in = c.in<T>("X"), scale = c.in<T>("Scale"),
          dout = c.in<T>("Out@GRAD"), dx = wanted<T>(c, "X@GRAD"),
          dscale = wanted<T>(c, "Scale@GRAD"), dbias = wanted<T>(c, "Bias@GRAD")] {
    for (int64_t channel = 0; channel < s.n; ++channel) {
      if (dscale) dscale.data()[channel] = 0;
      if (dbias) dbias.data()[channel] = 0;
    }
    for_each_channel(s, [&](int64_t channel, int64_t i) {
      const T g = dout.data()[i];
      if (dx) dx.data()[i] = g * scale.data()[channel];
      if (dscale) dscale.data()[channel] += g * in.data()[i];
      if (dbias) dbias.data()[channel] += g;
    });
  };
};

const OpDef& affine_channel = define_op({
    .type = "affine_channel",
    .doc = "Each channel of images times a number, plus a number.",
    .inputs = {{.name = "X", .doc = "images"},
               {.name = "Scale", .doc = "a factor for each channel"},
               {.name = "Bias", .doc = "what is added to each channel"}},
    .outputs = {{.name = "Out", .doc = "same shape as X", .like = "X"}},
    .attrs = {{"data_layout", "AnyLayout", "NCHW or NHWC"}},
    .infer = infer,
    .grad = grad_op({"X", "Scale"},
                    {.kernels = kernels_for<float, double>(backward), .infer = infer_grad}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
