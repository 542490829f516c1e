// flotilla/ops/tensor/where_index.cc
//
// where_index: the indices of the elements that are not zero, one row each, in order. How many
// there are is known only when it runs.

#include "flotilla/kernel/prepare.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  c.out("Out") = VarMeta::tensor(i64, {-1, std::max<int64_t>(c.in("Condition").shape.rank(), 1)});
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [shape = c.shape("Condition"), in = c.in<T>("Condition"),
          out = c.dynamic_out<int64_t>("Out")] {
    const T* x = in.data();
    const int64_t n = shape.numel(), rank = std::max<int64_t>(shape.rank(), 1);
    int64_t* row = out.resize({n - std::count(x, x + n, T{0}), rank});
    for (int64_t i = 0; i < n; ++i) {
      if (x[i] == T{0}) continue;
      int64_t rest = i;
      for (int64_t axis = rank; axis-- > 0;) {
        const int64_t extent = shape.rank() == 0 ? 1 : shape[axis];
        row[axis] = rest % extent;
        rest /= extent;
      }
      row += rank;
    }
  };
};

const OpDef& where_index = define_op({
    .type = "where_index",
    .doc = "Gives the indices of the elements that are not zero, one row each.",
    .inputs = {{.name = "Condition", .doc = "any shape", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "int64, [number of elements, rank]", .no_grad = true}},
    .infer = infer,
    .kernels = kernels_for_all(forward),
});

}  // namespace
}  // namespace flotilla::ops
