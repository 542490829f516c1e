// flotilla/ops/nn/spp.cc
//
// spp: images of any size become rows of one length (He et al., 2014), pools of 1, 2 x 2, 4 x 4,
// ... windows behind one another. The windows of a pool are as large as the last of them need be.

#include "flotilla/base/element_count.h"
#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const int64_t height = c.attr<int64_t>("pyramid_height");
  require(0 < height && height < 16, "pyramid_height must lie in [1, 16), but is {}", height);
  const int64_t most = int64_t{1} << (height - 1);
  require(x.rank() == 4 && std::min(x[2], x[3]) >= most,
          "X must be images of at least {0} x {0} places, but has shape {1}", most, x);
  c.out("Out") = like(c.in("X"), {x[0], checked_multiple(x[1], (4 * most * most - 1) / 3)});
}

void lower(LowerContext& c) {
  std::vector<std::string> rows;
  for (int32_t level = 0; level < c.attr<int32_t>("pyramid_height"); ++level) {
    const int64_t windows = int64_t{1} << level;
    std::vector<int64_t> sizes, paddings;
    for (const int64_t extent : {c.shape("X")[2], c.shape("X")[3]}) {
      sizes.push_back((extent + windows - 1) / windows);
      paddings.push_back((sizes.back() * windows - extent + 1) / 2);
    }
    rows.push_back(
        c.apply("flatten2", c.apply("pool2d", c.in("X"),
                                    {{"pooling_type", c.attr<std::string>("pooling_type")},
                                     {"ksize", sizes},
                                     {"strides", sizes},
                                     {"paddings", paddings}})));
  }
  c.result("Out", c.append("concat", {{"X", rows}}, {{"axis", 1}}));
}

const OpDef& spp = define_op({
    .type = "spp",
    .doc = "Rows of one length from images of any size.",
    .inputs = {{.name = "X", .doc = "images, [N, C, H, W]"}},
    .outputs = {{.name = "Out", .doc = "[N, C times all windows]"}},
    .attrs = {{"pyramid_height", 1, "how many pools"}, {"pooling_type", "max", "max or avg"}},
    .infer = infer,
    .grad = grad_of_body({"X", "Out"}),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
