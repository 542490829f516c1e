// flotilla/ops/nn/prelu.cc
//
// prelu: Out = X where X > 0, else Alpha * X. `mode` says how Alpha is shared: one number for all,
// one for each channel, or one for each element of an image.

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/nn/channels.h"

namespace flotilla::ops {
namespace {

// The axes [begin, end) of X for each place of which Alpha has a number.
struct Axes {
  int64_t begin = 0, end = 0;
};

template <typename Context>
Axes axes_of(const Context& c, const Shape& x) {
  const auto mode = c.template attr<std::string>("mode");
  if (mode == "all") return {};
  if (mode == "element") return {1, x.rank()};
  require(mode == "channel", "mode must be all, channel or element, but is \"{}\"", mode);
  const DataFormat format(c.template attr<std::string>("data_format"));
  const int64_t axis = format.channel_axis(x.rank());
  require(axis < x.rank(), "X of shape {} has no channels", x);
  return {axis, axis + 1};
}

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &alpha = c.in("Alpha").shape;
  const Axes axes = axes_of(c, x);
  const int64_t count = x.numel(axes.begin, axes.end);
  require(fits(alpha.numel(), count),
          "Alpha must hold {} numbers because X has shape {} and mode is {}, but has shape {}",
          count, x, c.attr<std::string>("mode"), alpha);
  c.out("Out") = c.in("X");
}

void lower(LowerContext& c) {
  const std::string& x = c.in("X");
  const Axes axes = axes_of(c, c.shape("X"));
  const auto dims = c.shape("X").begin();
  std::vector<int64_t> extents(dims + axes.begin, dims + axes.end);
  const auto axis = static_cast<int32_t>(extents.empty() ? -1 : axes.begin);
  if (extents.empty()) extents = {1};
  const std::string alpha = c.apply("reshape2", c.in("Alpha"), {{"shape", extents}});
  const std::string below = c.apply("elementwise_mul", x, alpha, {{"axis", axis}});
  const std::string above = c.apply("greater_than", x, c.apply("fill_any_like", x));
  c.result("Out", c.append("where", {{"Condition", {above}}, {"X", {x}}, {"Y", {below}}}));
}

const OpDef& prelu = define_op({
    .type = "prelu",
    .doc = "X where it is positive, else X times a slope that is trained.",
    .inputs = {{"X", "any tensor"}, {"Alpha", "slopes"}},
    .outputs = {{"Out", "like X"}},
    .attrs = {{"mode", "all", "all, channel or element"}, {"data_format", "NCHW", "NCHW or NHWC"}},
    .infer = infer,
    .grad = grad_of_body(),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
