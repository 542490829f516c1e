// flotilla/ops/loss/sigmoid_cross_entropy.cc
//
// sigmoid_cross_entropy_with_logits: with p = sigmoid(X), element by element,
//
//   Out = -Label * log(p) - (1 - Label) * log(1 - p) = max(X, 0) - X * Label + log(1 + exp(-|X|))
//
// An element whose label is ignore_index costs nothing; `normalize` divides by the number of the
// others. pos_weight w multiplies the logarithms: Out = (1 - Label) * X + w * log(1 + exp(-X)).
// This is the formula of Paddle's documentation; its CPU kernel gives something else for negative
// X.

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/device/cpu/simd.h"
#include "flotilla/ops/common/loss_formulas.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  for (const char* slot : {"Label", "pos_weight"}) check_same_shape(c, slot);
  c.out("Out") = c.in("X");
}

// One over the number of elements that count; 1 without `normalize`.
template <typename T>
T scale_of(const T* labels, int64_t n, T ignored, bool normalize) {
  if (!normalize) return 1;
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += labels[i] != ignored;
  return 1 / static_cast<T>(std::max<int64_t>(count, 1));
}

template <typename T>
struct Loop {
  int64_t n;
  T ignored;
  bool normalize;
  In<T> x, labels, weights;  // weights may be missing

  explicit Loop(PrepareContext& c)
      : n(c.shape("X").numel()),
        ignored(static_cast<T>(c.attr<int64_t>("ignore_index"))),
        normalize(c.attr<bool>("normalize")),
        x(c.in<T>("X")),
        labels(c.in<T>("Label")),
        weights(given<T>(c, "pos_weight")) {}

  // to[i] = f(i, x, label, weight) * scale, or zero where the label is ignored.
  template <typename F>
  void run(T* to, F f) const {
    const T* in = x.data();
    const T* label = labels.data();
    const T* weight = weights ? weights.data() : nullptr;
    const T none = ignored, scale = scale_of(label, n, ignored, normalize);
    parallel_ranges(n, kGrainOperations / 16, [=](int64_t begin, int64_t end) {
      simd([=] {
        for (int64_t i = begin; i < end; ++i) {
          const T value = f(i, in[i], label[i], weight == nullptr ? T{1} : weight[i]) * scale;
          to[i] = label[i] == none ? T{0} : value;
        }
      });
    });
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [loop = Loop<T>(c), out = c.out<T>("Out")] {
    loop.run(out.data(), [](int64_t, T x, T label, T weight) {
      return loss::SigmoidCrossEntropy::f(x, label, weight);
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [loop = Loop<T>(c), dout = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
    const T* d = dout.data();
    loop.run(dx.data(), [d](int64_t i, T x, T label, T weight) {
      return loss::SigmoidCrossEntropy::slope(x, label, weight) * d[i];
    });
  };
};

const OpDef& sigmoid_cross_entropy = define_op({
    .type = "sigmoid_cross_entropy_with_logits",
    .doc = "The cross entropy of sigmoid(X) and labels between 0 and 1.",
    .inputs = {{"X", "any tensor"},
               constant("Label", "between 0 and 1"),
               optional_constant("pos_weight", "factors of the logarithms")},
    .outputs = {{"Out", "a loss for each element"}},
    .attrs = {{"normalize", false, "whether to divide by the number of elements that count"},
              {"ignore_index", -100, "elements with this label cost nothing"}},
    .infer = infer,
    .grad = float_grad({"X", "Label", "pos_weight"}, backward),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
