// flotilla/ops/loss/nll_loss.cc
//
// nll_loss: Out = -Weight[label] * X[label], for logarithms of probabilities X of shape [N, C] or
// [N, C, H, W] and labels [N] or [N, H, W]. `reduction` sums up: sum, or mean, which divides by
// Total_weight, the sum of the weights. A label equal to ignore_index counts for nothing.

#include <algorithm>

#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_labels(c, "Label");
  const Shape& x = c.in("X").shape;
  const Shape& label = c.in("Label").shape;
  require(x.rank() == 2 || x.rank() == 4, "X must have rank 2 or 4, but has shape {}", x);
  Shape wanted = {x[0]};
  if (x.rank() == 4) wanted = {x[0], x[2], x[3]};
  require(fits(label, wanted), "Label must have shape {} because X is {}, but has shape {}", wanted,
          x, label);
  check_count(c, "Weight", x[1]);
  const auto reduction = c.attr<std::string>("reduction");
  require(reduction == "none" || reduction == "mean" || reduction == "sum",
          "reduction must be none, mean or sum, but is \"{}\"", reduction);
  const DType dtype = c.dtype("X");
  c.out("Out") = VarMeta::tensor(dtype, reduction == "none" ? wanted : Shape{1});
  c.out("Total_weight") = VarMeta::tensor(dtype, {1});
}

// Element i of Label belongs to image i / places at place i % places.
template <typename T>
struct Samples {
  int64_t count, classes, places, ignored;
  bool none, mean;  // the reduction
  LabelsIn labels;
  In<T> weights;  // may be missing

  explicit Samples(PrepareContext& c)
      : count(c.shape("Label").numel()),
        classes(c.shape("X")[1]),
        places(c.shape("X").numel(2, c.shape("X").rank())),
        ignored(c.attr<int64_t>("ignore_index")),
        none(c.attr<std::string>("reduction") == "none"),
        mean(c.attr<std::string>("reduction") == "mean"),
        labels(c, "Label"),
        weights(given<T>(c, "Weight")) {}

  // Calls f(number of the label, its place in X, its weight) for all that count.
  template <typename F>
  void for_each(F f) const {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t label = labels.checked(i, classes, ignored);
      if (label == ignored) continue;
      f(i, (i / places * classes + label) * places + i % places,
        weights ? weights.data()[label] : T{1});
    }
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [s = Samples<T>(c), x = c.in<T>("X"), out = c.out<T>("Out"),
          total = c.out<T>("Total_weight")] {
    double sum = 0, weights = 0;
    if (s.none) std::fill_n(out.data(), s.count, T{0});
    s.for_each([&](int64_t i, int64_t at, T weight) {
      const T loss = -weight * x.data()[at];
      if (s.none) out.data()[i] = loss;
      sum += static_cast<double>(loss);
      weights += static_cast<double>(weight);
    });
    // As in Paddle, only a reduction tells the total.
    *total.data() = s.none ? T{0} : static_cast<T>(weights);
    if (!s.none) *out.data() = static_cast<T>(s.mean && weights != 0 ? sum / weights : sum);
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [s = Samples<T>(c), n = c.shape("X").numel(), total = c.in<T>("Total_weight"),
          dout = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
    std::fill_n(dx.data(), n, T{0});
    const T divisor = s.mean && *total.data() != 0 ? *total.data() : T{1};
    s.for_each([&](int64_t i, int64_t at, T weight) {
      dx.data()[at] = -weight * dout.data()[s.none ? i : 0] / divisor;
    });
  };
};

// 2.6 wants a gradient without axes, which is what a fill of no extents makes there.
void drop_axes_of_loss(Block& block, size_t position) {
  if (!block.op(position).has_input("Out@GRAD")) return;
  const std::string grad = block.op(position).input("Out@GRAD");
  for (size_t at = position; at-- > 0;) {
    Op& op = block.op(at);
    if (!op.writes(grad)) continue;
    if (op.type() == "fill_constant") op.set_attr("shape", std::vector<int64_t>{});
    return;
  }
}

const OpDef& nll_loss = define_op({
    .type = "nll_loss",
    .doc = "Minus the logarithm of the probability of the label.",
    .inputs = {{"X", "logarithms of probabilities, [N, C] or [N, C, H, W]"},
               constant("Label", "class numbers"),
               optional_constant("Weight", "of each class; by default 1")},
    .outputs = {{"Out", "one number, or like Label"},
                constant("Total_weight", "sum of the weights")},
    .attrs = {{"ignore_index", int64_t{-100}, "this label counts for nothing"},
              {"reduction", "mean", "none, mean or sum"}},
    .infer = infer,
    .grad =
        grad_op({shape_of("X"), "Label", "Weight", "Total_weight"},
                {.kernels = kernels_for<float, double>(backward), .to_paddle = drop_axes_of_loss}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
