// flotilla/ops/loss/cross_entropy.cc
//
// cross_entropy:  Y = -log(X[label]), row by row, or -sum(Label * log(X)) with soft labels
// cross_entropy2: the same with class numbers only; keeps MatchX = X[label] for the gradient

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/common/x_shape.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  if (!c.attr<bool>("soft_label")) {
    check_row_labels(c);
  } else {
    const Shape& label = c.in("Label").shape;
    require(x.shape.rank() >= 1, "X must have rank 1 or more, but has shape {}", x.shape);
    require(fits(label, x.shape),
            "soft labels must have the shape of X, but Label is {} and X is {}", label, x.shape);
  }
  c.out("Y") = like(x, with_last(x.shape, 1));
}

template <typename T>
Step forward_soft(PrepareContext& c) {
  return [rows = LabelledRows(c, "X", true), x = c.in<T>("X"), label = c.in<T>("Label"),
          y = c.out<T>("Y")] {
    const int64_t n = rows.classes;
    parallel_for(rows.count, n * 16, [=, x = x.data(), y = y.data(), q = label.data()](int64_t r) {
      T sum = 0;
      for (int64_t i = r * n; i < (r + 1) * n; ++i) sum += q[i] * minus_log(x[i]);
      y[r] = sum;
    });
  };
}

template <typename T>
Step backward_soft(PrepareContext& c) {
  return [rows = LabelledRows(c, "X", true), x = c.in<T>("X"), label = c.in<T>("Label"),
          dy = c.in<T>("Y@GRAD"), dx = c.out<T>("X@GRAD")] {
    for (int64_t i = 0; i < rows.count * rows.classes; ++i) {
      dx.data()[i] = -label.data()[i] / x.data()[i] * dy.data()[i / rows.classes];
    }
  };
}

// Calls f(row, place of the label in X) for rows whose label counts, and f(row, -1) for others.
template <typename F>
void for_each_label(const LabelledRows& rows, int64_t ignored, F f) {
  for (int64_t r = 0; r < rows.count; ++r) {
    const int64_t label = rows.labels.checked(r, rows.classes, ignored);
    f(r, label == ignored ? -1 : r * rows.classes + label);
  }
}

// cross_entropy2 keeps the probability itself.
template <typename T>
Step forward_hard(PrepareContext& c) {
  return [rows = LabelledRows(c), ignored = c.attr<int64_t>("ignore_index"), x = c.in<T>("X"),
          y = c.out<T>("Y"), match = wanted<T>(c, "MatchX")] {
    for_each_label(rows, ignored, [&](int64_t r, int64_t at) {
      y.data()[r] = at < 0 ? T{0} : minus_log(x.data()[at]);
      if (match) match.data()[r] = at < 0 ? T{0} : x.data()[at];
    });
  };
}

template <typename T>
Step backward_hard(PrepareContext& c) {
  const bool matched = c.has("MatchX");
  return [rows = LabelledRows(c, "X@GRAD"), ignored = c.attr<int64_t>("ignore_index"), matched,
          x = c.in<T>(matched ? "MatchX" : "X"), dy = c.in<T>("Y@GRAD"), dx = c.out<T>("X@GRAD")] {
    std::fill_n(dx.data(), rows.count * rows.classes, T{0});
    for_each_label(rows, ignored, [&](int64_t r, int64_t at) {
      if (at >= 0) dx.data()[at] = -dy.data()[r] / x.data()[matched ? r : at];
    });
  };
}

constexpr auto forward = []<typename T>(PrepareContext& c) {
  return c.attr<bool>("soft_label") ? forward_soft<T>(c) : forward_hard<T>(c);
};
constexpr auto backward = []<typename T>(PrepareContext& c) {
  return c.attr<bool>("soft_label") ? backward_soft<T>(c) : backward_hard<T>(c);
};
constexpr auto forward2 = []<typename T>(PrepareContext& c) { return forward_hard<T>(c); };
constexpr auto backward2 = []<typename T>(PrepareContext& c) { return backward_hard<T>(c); };

void infer2(InferContext& c) {
  check_row_labels(c);
  const VarMeta& x = c.in("X");
  c.out("Y") = c.out("MatchX") = like(x, with_last(x.shape, 1));
  c.out("XShape") = x_shape_of(x);
}

void infer_grad2(InferContext& c) {
  const Shape& x_shape = c.in("XShape").shape;
  require(x_shape.rank() >= 2, "XShape must be [0, extents of X...], but is {}", x_shape);
  check_labels(c, "Label");
  const int64_t rows = x_shape.numel(1, x_shape.rank() - 1);
  for (const char* slot : {"Label", "MatchX", "Y@GRAD"}) check_count(c, slot, rows);
  c.out("X@GRAD") = VarMeta::tensor(
      c.dtype("Y@GRAD"), Shape(std::vector<int64_t>(x_shape.begin() + 1, x_shape.end())));
}

const AttrSpec kIgnore = {"ignore_index", -100, "rows with this label cost nothing"};
const Slot kLabel = constant("Label", "class numbers, or like X");

const OpDef& cross_entropy = define_op({
    .type = "cross_entropy",
    .doc = "Minus the logarithm of the probability that X gives to the label.",
    .inputs = {{"X", "probabilities, [..., classes]"}, kLabel},
    .outputs = {{"Y", "[..., 1]"}},
    .attrs = {{"soft_label", false, "whether Label holds probabilities"}, kIgnore},
    .infer = infer,
    .grad = float_grad({"X", "Label"}, backward),
    .kernels = kernels_for<float, double>(forward),
});

const OpDef& cross_entropy2 = define_op({
    .type = "cross_entropy2",
    .doc = "Minus the logarithm of the probability that X gives to the label.",
    .inputs = {{"X", "probabilities, [..., classes]"}, kLabel},
    .outputs = {{"Y", "[..., 1]"},
                constant("XShape", "empty; [0, extents of X...]"),
                constant("MatchX", "the probability itself")},
    .attrs = {kIgnore},
    .infer = infer2,
    .grad = grad_op({"Label", "MatchX", shape_of("XShape")},
                    {.kernels = kernels_for<float, double>(backward2),
                     .infer = infer_grad2,
                     .type = "cross_entropy_grad2"}),
    .kernels = kernels_for<float, double>(forward2),
});

}  // namespace
}  // namespace flotilla::ops
