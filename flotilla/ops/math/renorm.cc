// flotilla/ops/math/renorm.cc
//
// renorm: every slice of X at an index of `axis` is made shorter where its p-norm exceeds
// `max_norm`.

#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const int64_t axis = c.attr<int64_t>("axis");
  require(x.rank() > 1, "renorm shortens slices, but X has shape {}", x);
  require(-x.rank() <= axis && axis < x.rank(),
          "axis must lie in [{}, {}) because X has shape {}, but is {}", -x.rank(), x.rank(), x,
          axis);
  require(c.attr<float>("p") > 0, "p must be greater than 0, but is {}", c.attr<float>("p"));
  c.out("Out") = like(c.in("X"));
}

void lower(LowerContext& c) {
  const float p = c.attr<float>("p");
  const int64_t rank = c.shape("X").rank(), axis = c.attr<int64_t>("axis");
  std::vector<int32_t> others;
  for (int64_t a = 0; a < rank; ++a) {
    if (a != (axis < 0 ? axis + rank : axis)) others.push_back(static_cast<int32_t>(a));
  }
  const std::string powers = c.apply("pow", c.apply("abs", c.in("X")), {{"factor", p}});
  const std::string sums = c.sum(powers, others, true);
  // The slope of a root has no end at 0.
  const std::string norms = c.apply("pow", c.clip(sums, 1e-30f, 3e38f), {{"factor", 1 / p}});
  const std::string inverse = c.apply("reciprocal", c.scale(norms, 1, 1e-7f));
  const std::string factors = c.clip(c.scale(inverse, c.attr<float>("max_norm")), 0, 1);
  c.result("Out", c.mul(c.in("X"), factors));
}

const OpDef& renorm = define_op({
    .type = "renorm",
    .doc = "X, each slice made shorter where its norm exceeds `max_norm`.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .attrs = {{"p", 0.0f, "which norm"},
              {"axis", int32_t{0}, "whose indices tell the slices"},
              {"max_norm", 0.0f, "the largest norm"}},
    .infer = infer,
    .grad = grad_of_body(),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
