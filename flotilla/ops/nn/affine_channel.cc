// flotilla/ops/nn/affine_channel.cc
//
// affine_channel: each channel of images times a number of Scale, plus one of Bias. A batch norm
// that no longer learns.

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/nn/channels.h"

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
  require(fits(found, channels), "{} must hold a number for each of {} channels, but has shape {}",
          slot, channels, c.in(slot).shape);
}

void infer(InferContext& c) {
  for (const std::string_view slot : {"Scale", "Bias"}) check_channels(c, slot);
  c.out("Out") = like(c.in("X"));
}

// A number for each channel, beside the channels of X.
std::string combine(LowerContext& c, std::string type, const std::string& x, std::string numbers) {
  numbers = c.reshape(std::move(numbers), {-1});
  const auto axis = static_cast<int32_t>(axis_of(c, c.shape("X")));
  return c.apply(std::move(type), x, std::move(numbers), {{"axis", axis}});
}

void lower(LowerContext& c) {
  const std::string scaled = combine(c, "elementwise_mul", c.in("X"), c.in("Scale"));
  c.result("Out", combine(c, "elementwise_add", scaled, c.in("Bias")));
}

void infer_grad(InferContext& c) {
  check_channels(c, "Scale");
  c.out("X@GRAD") = like(c.in("X"));
  c.out("Scale@GRAD") = c.out("Bias@GRAD") = like(c.in("Scale"));
}

void lower_grad(LowerContext& c) {
  const Shape& x = c.shape("X");
  const std::string& dout = c.in("Out@GRAD");
  std::vector<int32_t> others;
  for (int64_t a = 0; a < x.rank(); ++a) {
    if (a != axis_of(c, x)) others.push_back(static_cast<int32_t>(a));
  }
  const auto of_channels = [&](const std::string& elements) {
    return c.apply("reshape2", c.sum(elements, others), {{"shape", c.shape("Scale").dims()}});
  };
  c.result("X@GRAD", combine(c, "elementwise_mul", dout, c.in("Scale")));
  if (c.wants("Scale@GRAD")) {
    c.result("Scale@GRAD", of_channels(c.mul(dout, c.in("X"))));
  }
  if (c.wants("Bias@GRAD")) c.result("Bias@GRAD", of_channels(dout));
}

const OpDef& affine_channel = define_op({
    .type = "affine_channel",
    .doc = "Each channel of images times a number, plus a number.",
    .inputs = {{.name = "X", .doc = "images"},
               {.name = "Scale", .doc = "a factor for each channel"},
               {.name = "Bias", .doc = "what is added to each channel"}},
    .outputs = {{.name = "Out", .doc = "same shape as X", .like = "X"}},
    .attrs = {{"data_layout", "AnyLayout", "NCHW or NHWC"}},
    .infer = infer,
    .grad = grad_op({"X", "Scale"}, {.lower = lower_grad, .infer = infer_grad}),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
