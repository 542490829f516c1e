// flotilla/ops/loss/cross_entropy.cc
//
// cross_entropy:  Y = -log(X[label]), row by row, or -sum(Label * log(X)) with soft labels
// cross_entropy2: the same with class numbers only; keeps MatchX = X[label] for the gradient

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/loss/labels.h"

namespace flotilla::ops {
namespace {

Shape with_last(Shape shape, int64_t extent) {
  shape[shape.rank() - 1] = extent;
  return shape;
}

// Refuses labels that do not go with X: one for each row, or soft ones like X.
void check(const InferContext& c, bool soft) {
  const Shape& x = c.in("X").shape;
  const Shape& label = c.in("Label").shape;
  require(x.rank() >= 1, "X must have rank 1 or more, but has shape {}", x);
  if (soft) {
    require(label == x || !label.known() || !x.known(),
            "soft labels must have the shape of X, but Label is {} and X is {}", label, x);
    return;
  }
  check_labels(c, "Label");
  const int64_t rows = x.numel(0, x.rank() - 1), labels = label.numel();
  require(rows == labels || rows < 0 || labels < 0,
          "Label must hold one class number for each row of X, but Label is {} and X is {}", label,
          x);
}

void infer(InferContext& c) {
  check(c, c.attr<bool>("soft_label"));
  c.out("Y") = c.in("X");
  c.out("Y").shape = with_last(c.in("X").shape, 1);
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& shape = c.shape("X");
  const int64_t n = shape[shape.rank() - 1], rows = shape.numel(0, shape.rank() - 1);
  const In<T> x = c.in<T>("X");
  const Out<T> y = c.out<T>("Y");
  if (c.attr<bool>("soft_label")) {
    return [=, label = c.in<T>("Label")] {
      parallel_for(rows, n * 16, [=, x = x.data(), y = y.data(), label = label.data()](int64_t r) {
        T sum = 0;
        for (int64_t i = r * n; i < (r + 1) * n; ++i) sum += label[i] * minus_log(x[i]);
        y[r] = sum;
      });
    };
  }
  return [=, labels = LabelsIn(c, "Label"), ignored = c.attr<int64_t>("ignore_index")] {
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t label = labels.checked(r, n, ignored);
      y.data()[r] = label == ignored ? T{0} : minus_log(x.data()[r * n + label]);
    }
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& shape = c.shape("X");
  const int64_t n = shape[shape.rank() - 1], rows = shape.numel(0, shape.rank() - 1);
  const In<T> x = c.in<T>("X"), dy = c.in<T>("Y@GRAD");
  const Out<T> dx = c.out<T>("X@GRAD");
  if (c.attr<bool>("soft_label")) {
    return [=, label = c.in<T>("Label")] {
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = r * n; i < (r + 1) * n; ++i) {
          dx.data()[i] = -label.data()[i] / x.data()[i] * dy.data()[r];
        }
      }
    };
  }
  return [=, labels = LabelsIn(c, "Label"), ignored = c.attr<int64_t>("ignore_index")] {
    std::fill_n(dx.data(), rows * n, T{0});
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t label = labels.checked(r, n, ignored), i = r * n + label;
      if (label != ignored) dx.data()[i] = -dy.data()[r] / x.data()[i];
    }
  };
};

// What tells a 1.x program's gradient what X looked like: an empty tensor [0, extents of X...].
void infer2(InferContext& c) {
  check(c, false);
  const VarMeta& x = c.in("X");
  VarMeta y = x;
  y.shape = with_last(x.shape, 1);
  c.out("Y") = c.out("MatchX") = y;
  std::vector<int64_t> extents = {0};
  extents.insert(extents.end(), x.shape.begin(), x.shape.end());
  c.out("XShape") = VarMeta::tensor(x.dtype, Shape(extents));
}

void infer_grad2(InferContext& c) {
  const Shape& x_shape = c.in("XShape").shape;
  require(x_shape.rank() >= 2, "XShape must be [0, extents of X...], but is {}", x_shape);
  check_labels(c, "Label");
  const int64_t rows = x_shape.numel(1, x_shape.rank() - 1);
  for (const std::string_view slot : {"Label", "MatchX", "Y@GRAD"}) {
    const Shape& shape = c.in(slot).shape;
    require(rows < 0 || !shape.known() || shape.numel() == rows,
            "{} must hold a number for each of the {} rows of X, but has shape {}", slot, rows,
            shape);
  }
  c.out("X@GRAD") = VarMeta::tensor(
      c.dtype("Y@GRAD"), Shape(std::vector<int64_t>(x_shape.begin() + 1, x_shape.end())));
}

constexpr auto forward2 = []<typename T>(PrepareContext& c) -> Step {
  const Shape& shape = c.shape("X");
  const int64_t n = shape[shape.rank() - 1], rows = shape.numel(0, shape.rank() - 1);
  return [=, x = c.in<T>("X"), y = c.out<T>("Y"), match = c.out<T>("MatchX"),
          labels = LabelsIn(c, "Label"), ignored = c.attr<int64_t>("ignore_index")] {
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t label = labels.checked(r, n, ignored);
      const T p = label == ignored ? T{0} : x.data()[r * n + label];
      match.data()[r] = p;
      y.data()[r] = label == ignored ? T{0} : minus_log(p);
    }
  };
};

constexpr auto backward2 = []<typename T>(PrepareContext& c) -> Step {
  const Shape& shape = c.shape("X@GRAD");
  const int64_t n = shape[shape.rank() - 1], rows = shape.numel(0, shape.rank() - 1);
  return [=, match = c.in<T>("MatchX"), dy = c.in<T>("Y@GRAD"), dx = c.out<T>("X@GRAD"),
          labels = LabelsIn(c, "Label"), ignored = c.attr<int64_t>("ignore_index")] {
    std::fill_n(dx.data(), rows * n, T{0});
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t label = labels.checked(r, n, ignored);
      if (label != ignored) dx.data()[r * n + label] = -dy.data()[r] / match.data()[r];
    }
  };
};

const AttrSpec kIgnore = {"ignore_index", -100, "rows with this label cost nothing"};
const Slot kLabel = {.name = "Label", .doc = "class numbers, or like X", .no_grad = true};

const OpDef& cross_entropy = define_op({
    .type = "cross_entropy",
    .doc = "Minus the logarithm of the probability that X gives to the label.",
    .inputs = {{"X", "probabilities, [..., classes]"}, kLabel},
    .outputs = {{"Y", "[..., 1]"}},
    .attrs = {{"soft_label", false, "whether Label holds probabilities"}, kIgnore},
    .infer = infer,
    .grad = grad_op({"X", "Label"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

const OpDef& cross_entropy2 = define_op({
    .type = "cross_entropy2",
    .doc = "Minus the logarithm of the probability that X gives to the label.",
    .inputs = {{"X", "probabilities, [..., classes]"}, kLabel},
    .outputs = {{"Y", "[..., 1]"},
                {.name = "XShape", .doc = "empty; [0, extents of X...]", .no_grad = true},
                {.name = "MatchX", .doc = "the probability itself", .no_grad = true}},
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
