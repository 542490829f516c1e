// equal_all: whether all elements of X and Y are equal.

#include <algorithm>

#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {
namespace {

void infer_equal_all(InferContext& c) {
  check_one_dtype(c, "X", "Y");
  c.out("Out") = VarMeta::tensor(boolean, {1});
}

// Tensors of other shapes are not equal.
constexpr auto equal_all = []<typename T>(PrepareContext& c) -> Step {
  return [same = c.shape("X") == c.shape("Y"), n = c.shape("X").numel(), x = c.in<T>("X"),
          y = c.in<T>("Y"), out = c.out<bool>("Out")] {
    *out.data() = same && std::equal(x.data(), x.data() + n, y.data());
  };
};

const OpDef& equal_all_op = define_op({
    .type = "equal_all",
    .doc = "Whether all elements are equal.",
    .inputs = {{.name = "X", .doc = "tensor", .no_grad = true},
               {.name = "Y", .doc = "tensor", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "bool, of shape [1]", .no_grad = true}},
    .infer = infer_equal_all,
    .kernels = kernels_for_all(equal_all),
});

}  // namespace
}  // namespace flotilla::ops
