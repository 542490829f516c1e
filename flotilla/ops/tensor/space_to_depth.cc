// flotilla/ops/tensor/space_to_depth.cc
//
// space_to_depth of 1.8. Its name promises blocks of places that become channels; what it does is
// the way back, and Out has the extents of what was promised: channels [b, b, C / b b] of X go to
// places [H b, W b], and those numbers, in order, are Out.

#include "flotilla/base/element_count.h"
#include "flotilla/ops/tensor/move.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const int64_t b = c.attr<int64_t>("blocksize");
  require(x.rank() == 4, "images must have four axes, but have shape {}", x);
  require(b > 1 && b < 1 << 16, "blocksize must lie in [2, 65536), but is {}", b);
  const auto divisible = [](int64_t extent, int64_t by) { return extent < 0 || extent % by == 0; };
  require(divisible(x[1], b * b) && divisible(x[2], b) && divisible(x[3], b),
          "blocks of {} by {} do not divide images of shape {}", b, b, x);
  const auto part = [b](int64_t extent) { return extent < 0 ? extent : extent / b; };
  c.out("Out") = like(c.in("X"), {x[0], checked_multiple(x[1], b * b), part(x[2]), part(x[3])});
}

// X in the order of Out.
Box places_of(const PrepareContext& c, std::string_view whole) {
  const Shape& x = c.shape(whole);
  const int64_t b = c.attr<int64_t>("blocksize"), channels = x[1] / (b * b);
  const Ints s = dense_strides({x[0], b, b, channels, x[2], x[3]});
  return {.extents = {x[0], channels, x[2], b, x[3], b},
          .strides = {s[0], s[3], s[4], s[1], s[5], s[2]}};
}

const OpDef& space_to_depth = define_op({
    .type = "space_to_depth",
    .doc = "Channels of images that become places.",
    .inputs = {{.name = "X", .doc = "images, [N, C, H, W]"}},
    .outputs = {{.name = "Out", .doc = "[N, C b b, H / b, W / b] where b is `blocksize`"}},
    .attrs = {{"blocksize", int64_t{2}, "places of a block along each axis"}},
    .infer = infer,
    .grad = grad_op({shape_of("X")}, {.kernels = every_dtype([](PrepareContext& c) {
                                        return put_box(c, "Out@GRAD", "X@GRAD",
                                                       places_of(c, "X@GRAD"));
                                      })}),
    .kernels =
        every_dtype([](PrepareContext& c) { return take_box(c, "X", "Out", places_of(c, "X")); }),
});

}  // namespace
}  // namespace flotilla::ops
