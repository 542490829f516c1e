// flotilla/ops/nn/maxout.cc
//
// maxout: the largest of each `groups` channels that follow one another (Goodfellow et al., 2013):
// a pool over channels. The first of equal ones gets the gradient. A number is the largest until
// NaN comes, and NaN until the next number, as in Paddle; NaN gets no gradient.

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/slices.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  const int64_t groups = c.attr<int64_t>("groups"), axis = c.attr<int64_t>("axis");
  check_axis("X", x.shape, axis);
  const int64_t at = x.shape.axis(axis), channels = x.shape[at];
  require(x.shape.rank() == 4 && at > 0,
          "X must have four axes, of which the first holds no channels, but has shape {} and axis "
          "is {}",
          x.shape, axis);
  require(groups > 1, "groups must be above 1, but is {}", groups);
  require(channels < 0 || channels % groups == 0,
          "{} channels of X, which has shape {}, cannot be cut into groups of {}", channels,
          x.shape, groups);
  Shape out = x.shape;
  if (channels > 0) out[at] = channels / groups;
  c.out("Out") = like(x, std::move(out));
}

// A pool in the format whose rows or columns are the channels of X.
void lower(LowerContext& c) {
  const int64_t axis = c.shape("X").axis(c.attr<int64_t>("axis"));
  std::vector<int32_t> window = {c.attr<int32_t>("groups"), 1};
  if (axis == 3) std::swap(window[0], window[1]);
  c.result("Out", c.apply("pool2d", c.in("X"),
                          {{"pooling_type", "max"},
                           {"ksize", window},
                           {"strides", window},
                           {"data_format", axis == 1 ? "NHWC" : "NCHW"}}));
}

const OpDef& maxout = define_op({
    .type = "maxout",
    .doc = "The largest of each `groups` channels that follow one another.",
    .inputs = {{.name = "X", .doc = "images"}},
    .outputs = {{.name = "Out", .doc = "X with fewer channels"}},
    .attrs = {{"groups", 0, "channels of which one stays"}, {"axis", 1, "where the channels are"}},
    .infer = infer,
    .grad = body_gradient({"X", "Out"}, {.inputs = {unread("Out")}}),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
