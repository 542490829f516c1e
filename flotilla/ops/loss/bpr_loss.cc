// flotilla/ops/loss/bpr_loss.cc
//
// bpr_loss: how often other classes stand before that of the label (Rendle et al., 2009).
//
//   Y = the mean over all classes j but the label of log(1 + exp(X[j] - X[label])), row by row

#include <algorithm>
#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/common/scalar.h"
#include "flotilla/ops/loss/labels.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta &x = c.in("X"), &label = c.in("Label");
  check_labels(c, "Label");
  const int64_t last = x.shape.rank() - 1;
  require(last >= 0, "X must have rank 1 or more, but has shape {}", x.shape);
  require(x.shape[last] < 0 || x.shape[last] > 1, "X must have 2 classes or more, but is {}",
          x.shape);
  const int64_t rows = x.shape.numel(0, last), labels = label.shape.numel();
  require(rows < 0 || labels < 0 || rows == labels,
          "Label must hold one class number for each row of X, but Label is {} and X is {}",
          label.shape, x.shape);
  Shape y = x.shape;
  y[last] = 1;
  c.out("Y") = like(x, std::move(y));
}

struct Rows {
  int64_t count = 0, classes = 0;
  LabelsIn labels;

  explicit Rows(PrepareContext& c) : labels(c, "Label") {
    const Shape& x = c.shape("X");
    classes = x[x.rank() - 1];
    count = x.numel(0, x.rank() - 1);
  }
  int64_t label(int64_t row) const { return labels.checked(row, classes, 0); }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [rows = Rows(c), in = c.in<T>("X"), out = c.out<T>("Y")] {
    parallel_for(rows.count, rows.classes * 20, [&](int64_t row) {
      const T* x = in.data() + row * rows.classes;
      const int64_t label = rows.label(row);
      T sum = 0;
      for (int64_t j = 0; j < rows.classes; ++j) {
        const T d = x[j] - x[label];
        if (j != label) sum += exact::softplus(d);
      }
      out.data()[row] = sum / static_cast<T>(rows.classes - 1);
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [rows = Rows(c), in = c.in<T>("X"), dout = c.in<T>("Y@GRAD"), out = c.out<T>("X@GRAD")] {
    parallel_for(rows.count, rows.classes * 20, [&](int64_t row) {
      const T* x = in.data() + row * rows.classes;
      T* dx = out.data() + row * rows.classes;
      const int64_t label = rows.label(row);
      const T scale = dout.data()[row] / static_cast<T>(rows.classes - 1);
      T sum = 0;
      for (int64_t j = 0; j < rows.classes; ++j) {
        if (j == label) continue;
        dx[j] = scale / (1 + std::exp(x[label] - x[j]));
        sum += dx[j];
      }
      dx[label] = -sum;
    });
  };
};

const OpDef& bpr_loss = define_op({
    .type = "bpr_loss",
    .doc = "How often other classes stand before that of the label.",
    .inputs = {{.name = "X", .doc = "scores of the classes, row by row"},
               {.name = "Label", .doc = "a class for each row", .no_grad = true}},
    .outputs = {{.name = "Y", .doc = "a loss for each row"}},
    .infer = infer,
    .grad = grad_op({"X", "Label"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops
