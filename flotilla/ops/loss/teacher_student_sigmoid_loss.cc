// flotilla/ops/loss/teacher_student_sigmoid_loss.cc
//
// teacher_student_sigmoid_loss: a click and a teacher's score in one label, both told by the
// sigmoid of X. With s(z) = log(1 + exp(X)) - z X, the cross entropy of sigmoid(X) and z:
//
//   Label in      meaning                         Y
//   [.., -1)      no click, no teacher            s(0)
//   [-1, 0)       a click, no teacher             s(1)
//   [0, 1)        no click, score Label           s(0) + s(Label)
//   [1, ..)       a click, score Label - 1        s(1) + s(Label - 1)
//
// Beyond soft_max_lower_bound and soft_max_up_bound there is no gradient.

#include <algorithm>
#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/common/scalar.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &label = c.in("Label").shape;
  require(x.rank() == 2 && label.rank() == 2 && x[1] == 1 && label[1] == 1,
          "X and Label must be columns, but have shapes {} and {}", x, label);
  require(x[0] < 0 || label[0] < 0 || x[0] == label[0],
          "X and Label must have as many rows, but have shapes {} and {}", x, label);
  c.out("Y") = c.in("X");
}

// How many cross entropies a label asks for, and the sum of what they compare with.
template <typename T>
struct Meaning {
  T count;
  T sum;

  explicit Meaning(T label)
      : count(label < 0 ? T{1} : T{2}),
        sum(label < -1  ? T{0}
            : label < 0 ? T{1}
                        : label) {}
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("X").numel(), x = c.in<T>("X"), label = c.in<T>("Label"), y = c.out<T>("Y")] {
    parallel_for(n, 40, [&](int64_t i) {
      const Meaning<T> meaning(label.data()[i]);
      const T z = x.data()[i];
      y.data()[i] = meaning.count * exact::softplus(z) - meaning.sum * z;
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("X").numel(), low = static_cast<T>(c.attr<float>("soft_max_lower_bound")),
          high = static_cast<T>(c.attr<float>("soft_max_up_bound")), x = c.in<T>("X"),
          label = c.in<T>("Label"), dy = c.in<T>("Y@GRAD"), dx = c.out<T>("X@GRAD")] {
    parallel_for(n, 40, [&](int64_t i) {
      const Meaning<T> meaning(label.data()[i]);
      const T z = x.data()[i];
      const T slope = meaning.count * exact::sigmoid(z) - meaning.sum;
      dx.data()[i] = z <= low || z >= high ? T{0} : slope * dy.data()[i];
    });
  };
};

const std::vector<AttrSpec> kAttrs = {
    {"soft_max_up_bound", 15.0f, "from where on there is no gradient"},
    {"soft_max_lower_bound", -15.0f, "up to where there is none"}};
const Slot kLabel = {.name = "Label", .doc = "[rows, 1]: clicks and scores", .no_grad = true};

const OpDef& teacher_student_sigmoid_loss = define_op({
    .type = "teacher_student_sigmoid_loss",
    .doc = "The cross entropies of a click and of a teacher's score.",
    .inputs = {{.name = "X", .doc = "[rows, 1]"}, kLabel},
    .outputs = {{.name = "Y", .doc = "[rows, 1]"}},
    .attrs = kAttrs,
    .infer = infer,
    .grad = grad_op({"X", "Label"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
