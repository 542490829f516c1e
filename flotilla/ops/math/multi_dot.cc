// flotilla/ops/math/multi_dot.cc
//
// multi_dot: the product of a row of matrices, in the order that costs least. The first one may be
// a vector, which is a row, and the last one, which is a column.

#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const size_t count = c.in_count("X");
  require(count >= 2, "multi_dot multiplies two matrices or more, but X holds {}", count);
  Shape out;
  for (size_t i = 0; i < count; ++i) {
    const Shape& x = c.in("X", i).shape;
    const bool outer = i == 0 || i + 1 == count;
    require(x.rank() == 2 || (outer && x.rank() == 1),
            "multi_dot multiplies matrices, and vectors at both ends, but X[{}] has shape {}", i,
            x);
    require(c.dtype("X", i) == c.dtype("X"), "all of X must have one dtype, but hold {} and {}",
            c.dtype("X"), c.dtype("X", i));
    if (i == 0) {
      if (x.rank() == 2) out.push_back(x[0]);
      continue;
    }
    const Shape& before = c.in("X", i - 1).shape;
    const int64_t columns = before[before.rank() - 1];
    require(columns == x[0] || columns < 0 || x[0] < 0,
            "X[{}] of shape {} cannot be multiplied with X[{}] of shape {}", i - 1, before, i, x);
    if (i + 1 == count && x.rank() == 2) out.push_back(x[1]);
  }
  c.out("Out") = VarMeta::tensor(c.dtype("X"), out.rank() == 0 ? Shape{1} : out);
}

// The cheapest product of matrices i to j.
struct Part {
  double cost = 0;
  size_t split = 0;  // the last matrix of its left side
};

void lower(LowerContext& c) {
  const size_t count = c.count("X");
  // Matrix i has extents[i] rows and extents[i + 1] columns; what is not known counts as much.
  std::vector<double> extents;
  for (size_t i = 0; i < count; ++i) {
    const Shape& x = c.shape("X", i);
    if (i == 0) extents.push_back(x.rank() == 1 ? 1 : static_cast<double>(x[0]));
    extents.push_back(i > 0 && x.rank() == 1 ? 1 : static_cast<double>(x[x.rank() - 1]));
  }
  for (double& extent : extents) extent = extent < 0 ? 1024 : extent;
  std::vector<std::vector<Part>> parts(count, std::vector<Part>(count));
  for (size_t length = 1; length < count; ++length) {
    for (size_t i = 0, j = length; j < count; ++i, ++j) {
      for (size_t split = i; split < j; ++split) {
        const double cost = parts[i][split].cost + parts[split + 1][j].cost +
                            extents[i] * extents[split + 1] * extents[j + 1];
        if (split == i || cost < parts[i][j].cost) parts[i][j] = {cost, split};
      }
    }
  }
  const auto product = [&](const auto& self, size_t i, size_t j) -> std::string {
    if (i == j) return c.in("X", i);
    const size_t split = parts[i][j].split;
    return c.apply("matmul_v2", self(self, i, split), self(self, split + 1, j));
  };
  c.result("Out", product(product, 0, count - 1));
}

const OpDef& multi_dot = define_op({
    .type = "multi_dot",
    .doc = "The product of a row of matrices.",
    .inputs = {{.name = "X", .doc = "two matrices or more", .list = true}},
    .outputs = {{.name = "Out", .doc = "their product"}},
    .infer = infer,
    .grad = grad_of_body(),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
