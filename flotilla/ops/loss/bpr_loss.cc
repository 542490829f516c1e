// flotilla/ops/loss/bpr_loss.cc
//
// bpr_loss: how often other classes stand before that of the label (Rendle et al., 2009).
//
//   Y = the mean over all classes j but the label of log(1 + exp(X[j] - X[label])), row by row

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/scalar.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_row_labels(c);
  const VarMeta& x = c.in("X");
  const int64_t classes = x.shape[x.shape.rank() - 1];
  require(classes < 0 || classes > 1, "X must have 2 classes or more, but is {}", x.shape);
  c.out("Y") = like(x, with_last(x.shape, 1));
}

// Calls f(row, its label, where it begins) for all rows.
template <typename F>
void for_each_row(const LabelledRows& rows, F f) {
  parallel_for(rows.count, rows.classes * 20, [&](int64_t row) {
    f(row, rows.labels.checked(row, rows.classes, 0), row * rows.classes);
  });
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [rows = LabelledRows(c), in = c.in<T>("X"), out = c.out<T>("Y")] {
    for_each_row(rows, [&](int64_t row, int64_t label, int64_t begin) {
      const T* x = in.data() + begin;
      T sum = 0;
      for (int64_t j = 0; j < rows.classes; ++j) {
        if (j != label) sum += exact::softplus(x[j] - x[label]);
      }
      out.data()[row] = sum / static_cast<T>(rows.classes - 1);
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [rows = LabelledRows(c), in = c.in<T>("X"), dout = c.in<T>("Y@GRAD"),
          out = c.out<T>("X@GRAD")] {
    for_each_row(rows, [&](int64_t row, int64_t label, int64_t begin) {
      const T* x = in.data() + begin;
      T* dx = out.data() + begin;
      const T scale = dout.data()[row] / static_cast<T>(rows.classes - 1);
      T sum = 0;
      for (int64_t j = 0; j < rows.classes; ++j) {
        if (j != label) sum += dx[j] = scale * exact::sigmoid(x[j] - x[label]);
      }
      dx[label] = -sum;
    });
  };
};

const OpDef& bpr_loss = define_op({
    .type = "bpr_loss",
    .doc = "How often other classes stand before that of the label.",
    .inputs = {{.name = "X", .doc = "scores of the classes, row by row"},
               constant("Label", "a class for each row")},
    .outputs = {{.name = "Y", .doc = "a loss for each row"}},
    .infer = infer,
    .grad = float_grad({"X", "Label"}, backward),
    .kernels = kernels_for<float, double>(forward),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops
