// flotilla/ops/nn/temporal_shift.cc
//
// temporal_shift: the images of a film see their neighbours (Lin et al., 2019). Of each image's C
// channels, the first C * shift_ratio come from the image before it, as many more from the one
// behind it, and the rest stays; zeros where there is none. The gradient goes the other way.

#include "flotilla/op/lower.h"
#include "flotilla/ops/nn/channels.h"

namespace flotilla::ops {
namespace {

using Ints = std::vector<int32_t>;

template <typename Context>
bool channels_last(const Context& c) {
  return DataFormat(c.template attr<std::string>("data_format")).channels_last();
}

void infer(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const int64_t images = c.attr<int64_t>("seg_num");
  const float ratio = c.attr<float>("shift_ratio");
  require(x.rank() == 4, "X must have four axes, but has shape {}", x);
  require(x[channels_last(c) ? 3 : 1] >= 0, "X must have a known number of channels, but is {}", x);
  require(images > 0 && (x[0] < 0 || x[0] % images == 0),
          "{} images cannot be cut into films of seg_num {}", x[0], images);
  require(0 < ratio && ratio < 0.5f, "shift_ratio must lie in (0, 0.5), but is {}", ratio);
  c.out("Out") = like(c.in("X"));
}

// Of films, [films, images, ...]: image t becomes image t + by.
std::string shifted(LowerContext& c, const std::string& films, int32_t by) {
  Ints paddings(10, 0);
  paddings[by > 0 ? 2 : 3] = 1;
  const int32_t begin = by > 0 ? 0 : 1, end = begin + c.attr<int32_t>("seg_num");
  return c.slice(c.apply("pad", films, {{"paddings", paddings}}), 1, begin, end);
}

template <bool kBack>
void lower(LowerContext& c) {
  const std::string& x = c.in(kBack ? "Out@GRAD" : "X");
  const Shape& shape = c.var(x).shape;
  const int32_t axis = channels_last(c) ? 4 : 2, by = kBack ? -1 : 1;
  const int64_t channels = shape[axis - 1];
  std::vector<int64_t> cut = shape.dims();
  cut[0] = c.attr<int64_t>("seg_num");
  cut.insert(cut.begin(), -1);
  const std::string films = c.apply("reshape2", x, {{"shape", cut}});
  const auto part = [&](int64_t begin, int64_t end) { return c.slice(films, axis, begin, end); };
  const auto share = static_cast<float>(channels) * c.attr<float>("shift_ratio");
  const auto first = static_cast<int64_t>(share), second = static_cast<int64_t>(2 * share);
  std::vector<std::string> parts = {part(second, channels)};
  if (second > first) parts.insert(parts.begin(), shifted(c, part(first, second), -by));
  if (first > 0) parts.insert(parts.begin(), shifted(c, part(0, first), by));
  const std::string joined = c.append("concat", {{"X", parts}}, {{"axis", axis}});
  c.result(kBack ? "X@GRAD" : "Out", c.flatten(joined, 0, 1));
}

const OpDef& temporal_shift = define_op({
    .type = "temporal_shift",
    .doc = "Some channels of each frame of a video are taken from the frames before and after it.",
    .inputs = {{.name = "X", .doc = "images, [films * seg_num, C, H, W]"}},
    .outputs = {{.name = "Out", .doc = "same shape as X", .like = "X"}},
    .attrs = {{"seg_num", 1, "images of a film"},
              {"shift_ratio", 0.25f, "share of the channels that come from before"},
              {"data_format", "NCHW", "NCHW or NHWC"}},
    .infer = infer,
    .grad = grad_op({}, {.lower = lower<true>}),
    .lower = lower<false>,
});

}  // namespace
}  // namespace flotilla::ops
