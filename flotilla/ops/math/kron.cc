// flotilla/ops/math/kron.cc
//
// kron: the Kronecker product, blocks of Y, one for each element of X and scaled by it. Along each
// axis index i of X and j of Y meet at i * (extent of Y) + j; a missing axis counts as extent 1.

#include <algorithm>

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_one_dtype(c, "X", "Y");
  const Shape &x = c.in("X").shape, &y = c.in("Y").shape;
  const int64_t rank = std::max(x.rank(), y.rank());
  Shape out;
  for (int64_t a = 0; a < rank; ++a) {
    const auto extent = [&](const Shape& shape) {
      const int64_t missing = rank - shape.rank();
      return a < missing ? int64_t{1} : shape[a - missing];
    };
    out.push_back(extent(x) < 0 || extent(y) < 0 ? -1 : extent(x) * extent(y));
  }
  c.out("Out") = VarMeta::tensor(c.dtype("X"), std::move(out));
}

// X of [a, 1, b, 1] times Y of [1, c, 1, d], and each two axes become one.
void lower(LowerContext& c) {
  const auto rank = static_cast<int32_t>(std::max(c.shape("X").rank(), c.shape("Y").rank()));
  const auto spread = [&](std::string_view slot, int32_t own) {
    const int64_t missing = rank - c.shape(slot).rank();
    std::vector<int32_t> inserted;
    for (int32_t a = 0; a < 2 * rank; ++a) {
      if (a % 2 != own || a / 2 < missing) inserted.push_back(a);
    }
    return c.apply("unsqueeze2", c.in(slot), {{"axes", inserted}});
  };
  std::string out = c.mul(spread("X", 0), spread("Y", 1));
  for (int32_t a = 0; a < rank; ++a) {
    out = c.flatten(out, a, a + 1);
  }
  c.result("Out", out);
}

const OpDef& kron = define_op({
    .type = "kron",
    .doc = "Blocks of Y, one for each element of X and scaled by it.",
    .inputs = {{.name = "X", .doc = "tensor"}, {.name = "Y", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "the products of the extents of X and Y"}},
    .infer = infer,
    .grad = grad_of_body(),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
