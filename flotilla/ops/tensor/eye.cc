// eye: a matrix with ones on its diagonal and zeros elsewhere.

#include <algorithm>

#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/dtype_attr.h"

namespace flotilla::ops {
namespace {

void infer_eye(InferContext& c) {
  const int64_t rows = c.attr<int64_t>("num_rows"), columns = c.attr<int64_t>("num_columns");
  require(rows >= 0, "num_rows of eye must not be negative, but is {}", rows);
  c.out("Out") = VarMeta::tensor(dtype_attr(c), {rows, columns < 0 ? rows : columns});
}

constexpr auto eye = []<typename T>(PrepareContext& c) -> Step {
  return [rows = c.shape("Out")[0], columns = c.shape("Out")[1], out = c.out<T>("Out")] {
    std::fill_n(out.data(), rows * columns, T{0});
    for (int64_t i = 0; i < std::min(rows, columns); ++i) out.data()[i * columns + i] = T{1};
  };
};

const OpDef& eye_op = define_op({
    .type = "eye",
    .doc = "A matrix with ones on its diagonal and zeros elsewhere.",
    .outputs = {{.name = "Out", .doc = "a matrix"}},
    .attrs = {{"num_rows", int64_t{0}, "rows"},
              {"num_columns", int64_t{-1}, "columns; -1: as many as rows"},
              dtype_spec()},
    .infer = infer_eye,
    .kernels = kernels_for_all(eye),
});

}  // namespace
}  // namespace flotilla::ops
