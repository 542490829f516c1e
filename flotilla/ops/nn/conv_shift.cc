// flotilla/ops/nn/conv_shift.cc
//
// conv_shift: Out[i] = sum over j of X[i + j - (n - 1) / 2] Y[j], row by row, where X goes round
// and n, the columns of Y, is odd (Graves et al., 2014).

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {
namespace {

using Ints = std::vector<int32_t>;

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &y = c.in("Y").shape;
  require(x.rank() == 2 && y.rank() == 2 && fits(x[0], y[0]),
          "X and Y must be matrices of as many rows, but have shapes {} and {}", x, y);
  require(y[1] % 2 == 1 && (x[1] < 0 || y[1] <= x[1]),
          "the columns of Y must be odd and no more than {}, but are {}", x[1], y[1]);
  c.out("Out") = like(c.in("X"));
}

void lower(LowerContext& c) {
  std::vector<std::string> terms;
  const auto n = static_cast<int32_t>(c.shape("Y")[1]);
  for (int32_t j = 0; j < n; ++j) {
    const std::string turned =
        c.apply("roll", c.in("X"), {{"shifts", Ints{n / 2 - j}}, {"axis", Ints{1}}});
    terms.push_back(c.mul(turned, c.slice(c.in("Y"), 1, j, j + 1)));
  }
  c.result("Out", c.append("sum", {{"X", terms}}));
}

const OpDef& conv_shift = define_op({
    .type = "conv_shift",
    .doc = "The circular correlation of the rows of X and Y.",
    .inputs = {{.name = "X", .doc = "[rows, columns]"}, {.name = "Y", .doc = "[rows, odd]"}},
    .outputs = {{.name = "Out", .doc = "same shape as X", .like = "X"}},
    .infer = infer,
    .grad = grad_of_body(),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
