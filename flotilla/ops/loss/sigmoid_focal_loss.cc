// flotilla/ops/loss/sigmoid_focal_loss.cc
//
// sigmoid_focal_loss (Lin et al., 2017): X holds a logit for each row and class, Label the class of
// each row from 1 on; 0 is the background, -1 a row that does not count. With p = sigmoid(X) and N
// the number of rows with a class, FgNum, at least 1:
//
//   the class of the row   -alpha (1 - p)^gamma log(p) / N
//   any other              -(1 - alpha) p^gamma log(1 - p) / N

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/loss_formulas.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &label = c.in("Label").shape;
  require(x.rank() == 2, "X must have shape [rows, classes], but has {}", x);
  require(fits(label, Shape{x[0], 1}), "Label must have shape [{}, 1], but has {}", x[0], label);
  for (const char* slot : {"Label", "FgNum"}) check_labels(c, slot);
  c.out("Out") = like(c.in("X"));
}

template <typename T>
struct Loop {
  int64_t rows = 0, classes = 0;
  T gamma = 0, alpha = 0;
  In<T> x;
  LabelsIn labels, count;

  explicit Loop(PrepareContext& c)
      : rows(c.shape("X")[0]),
        classes(c.shape("X")[1]),
        gamma(static_cast<T>(c.attr<float>("gamma"))),
        alpha(static_cast<T>(c.attr<float>("alpha"))),
        x(c.in<T>("X")),
        labels(c, "Label"),
        count(c, "FgNum") {}

  // to[i] = f(i, logit towards what is right, factor): the logit of another class than the row's
  // with the other sign. Zero in rows that do not count.
  template <typename F>
  void run(T* to, F f) const {
    const T counted = static_cast<T>(std::max<int64_t>(count[0], 1));
    parallel_for(rows, 64 * std::max<int64_t>(classes, 1), [&](int64_t row) {
      const int64_t label = labels[row];
      for (int64_t k = 0; k < classes; ++k) {
        const int64_t i = row * classes + k;
        const bool right = label == k + 1;
        const T factor = (right ? alpha : 1 - alpha) / counted;
        to[i] = label == -1 ? T{0} : f(i, x.data()[i], right ? T{1} : T{-1}, factor);
      }
    });
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [loop = Loop<T>(c), out = c.out<T>("Out")] {
    loop.run(out.data(), [&](int64_t, T x, T sign, T factor) {
      return factor * loss::FocalLoss::f(sign * x, loop.gamma);
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [loop = Loop<T>(c), dout = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
    loop.run(dx.data(), [&](int64_t i, T x, T sign, T factor) {
      return sign * factor * loss::FocalLoss::slope(sign * x, loop.gamma) * dout.data()[i];
    });
  };
};

const OpDef& sigmoid_focal_loss = define_op({
    .type = "sigmoid_focal_loss",
    .doc = "The cross entropy of sigmoid(X) and classes, less where it is right.",
    .inputs =
        {{"X", "[rows, classes]"},
         constant("Label", "[rows, 1]: i32 or i64"),
         {.name = "FgNum", .doc = "how many rows have a class", .no_grad = true, .one = true}},
    .outputs = {{"Out", "a loss for each element"}},
    .attrs = {{"gamma", 2.0f, "how little counts what is right anyway"},
              {"alpha", 0.25f, "weight of the class of a row"}},
    .infer = infer,
    .grad = float_grad({"X", "Label", "FgNum"}, backward),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
