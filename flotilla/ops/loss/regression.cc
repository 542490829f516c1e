// flotilla/ops/loss/regression.cc
//
// huber_loss:     Residual = Y - X;  Out = r^2 / 2 where |r| <= delta, else delta * (|r| - delta /
// 2) smooth_l1_loss: Diff = InsideWeight * (X - Y);  Out = row sums of OutsideWeight * f(Diff),
// where
//                 f(d) = (sigma * d)^2 / 2 for |d| < 1 / sigma^2, else |d| - 1 / (2 * sigma^2)

#include <algorithm>
#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"

namespace flotilla::ops {
namespace {

void check_same_shape(const InferContext& c, std::string_view slot) {
  const Shape& x = c.in("X").shape;
  const Shape& other = c.in(slot).shape;
  const bool fits = x == other || ((!x.known() || !other.known()) && x.rank() == other.rank());
  require(fits, "{} must have the shape of X, but is {} and X is {}", slot, other, x);
}

void infer_huber(InferContext& c) {
  check_same_shape(c, "Y");
  c.out("Out") = c.in("X");
  c.out("Residual") = c.in("X");
}

constexpr auto huber = []<typename T>(PrepareContext& c) -> Step {
  const int64_t n = c.shape("X").numel();
  return [n, delta = static_cast<T>(c.attr<float>("delta")), x = c.in<T>("X"), y = c.in<T>("Y"),
          residual = c.out<T>("Residual"), out = c.out<T>("Out")] {
    parallel_for(n, 8, [&](int64_t i) {
      const T r = y.data()[i] - x.data()[i], size = std::abs(r);
      residual.data()[i] = r;
      out.data()[i] = size <= delta ? r * r / 2 : delta * (size - delta / 2);
    });
  };
};

void infer_huber_grad(InferContext& c) {
  c.out("X@GRAD") = c.in("Residual");
  c.out("Y@GRAD") = c.in("Residual");
}

constexpr auto huber_grad = []<typename T>(PrepareContext& c) -> Step {
  const int64_t n = c.shape("Residual").numel();
  return [n, delta = static_cast<T>(c.attr<float>("delta")), residual = c.in<T>("Residual"),
          dout = c.in<T>("Out@GRAD"), dx = c.has("X@GRAD") ? c.out<T>("X@GRAD") : Out<T>(),
          dy = c.has("Y@GRAD") ? c.out<T>("Y@GRAD") : Out<T>()] {
    parallel_for(n, 8, [&](int64_t i) {
      const T slope = std::clamp(residual.data()[i], -delta, delta) * dout.data()[i];
      if (dx) dx.data()[i] = -slope;
      if (dy) dy.data()[i] = slope;
    });
  };
};

const OpDef& huber_loss = define_op({
    .type = "huber_loss",
    .doc = "Half the square of small differences, and the size of large ones.",
    .inputs = {{"X", "predictions"}, {"Y", "targets"}},
    .outputs = {{.name = "Out", .doc = "a loss for each prediction", .like = "X"},
                {.name = "Residual", .doc = "Y - X", .no_grad = true, .like = "X"}},
    .attrs = {{"delta", 1.0f, "where the square becomes a straight line"}},
    .infer = infer_huber,
    .grad = grad_op({"Residual"},
                    {.kernels = kernels_for<float, double>(huber_grad), .infer = infer_huber_grad}),
    .kernels = kernels_for<float, double>(huber),
});

void infer_smooth(InferContext& c) {
  check_same_shape(c, "Y");
  for (const std::string_view slot : {"InsideWeight", "OutsideWeight"}) {
    if (c.has_in(slot)) check_same_shape(c, slot);
  }
  const Shape& x = c.in("X").shape;
  require(x.rank() >= 2, "X must have rank 2 or more, but has shape {}", x);
  c.out("Diff") = c.in("X");
  c.out("Out") = c.in("X");
  c.out("Out").shape = {x[0], 1};
}

constexpr auto smooth = []<typename T>(PrepareContext& c) -> Step {
  const int64_t rows = c.shape("X")[0], width = c.shape("X").numel(1, c.shape("X").rank());
  const T sigma2 = static_cast<T>(c.attr<float>("sigma")) * static_cast<T>(c.attr<float>("sigma"));
  return [=, x = c.in<T>("X"), y = c.in<T>("Y"), diff = c.out<T>("Diff"), out = c.out<T>("Out"),
          inside = c.has("InsideWeight") ? c.in<T>("InsideWeight") : In<T>(),
          outside = c.has("OutsideWeight") ? c.in<T>("OutsideWeight") : In<T>()] {
    parallel_for(rows, width * 8, [&](int64_t row) {
      T sum = 0;
      for (int64_t i = row * width; i < (row + 1) * width; ++i) {
        const T d = (x.data()[i] - y.data()[i]) * (inside ? inside.data()[i] : T{1});
        const T size = std::abs(d);
        const T value = size < 1 / sigma2 ? sigma2 * d * d / 2 : size - 1 / (2 * sigma2);
        diff.data()[i] = d;
        sum += value * (outside ? outside.data()[i] : T{1});
      }
      out.data()[row] = sum;
    });
  };
};

void infer_smooth_grad(InferContext& c) {
  const Shape &diff = c.in("Diff").shape, &gradient = c.in("Out@GRAD").shape;
  require(diff.rank() >= 2 && (!gradient.known() || diff[0] < 0 || gradient.numel() == diff[0]),
          "Out@GRAD must have a number for each row of Diff, but they are {} and {}", gradient,
          diff);
  c.out("X@GRAD") = c.in("Diff");
  c.out("Y@GRAD") = c.in("Diff");
}

constexpr auto smooth_grad = []<typename T>(PrepareContext& c) -> Step {
  const int64_t n = c.shape("Diff").numel(), width = n / std::max<int64_t>(1, c.shape("Diff")[0]);
  const T sigma2 = static_cast<T>(c.attr<float>("sigma")) * static_cast<T>(c.attr<float>("sigma"));
  return [=, diff = c.in<T>("Diff"), dout = c.in<T>("Out@GRAD"),
          inside = c.has("InsideWeight") ? c.in<T>("InsideWeight") : In<T>(),
          outside = c.has("OutsideWeight") ? c.in<T>("OutsideWeight") : In<T>(),
          dx = c.has("X@GRAD") ? c.out<T>("X@GRAD") : Out<T>(),
          dy = c.has("Y@GRAD") ? c.out<T>("Y@GRAD") : Out<T>()] {
    parallel_for(n, 8, [&](int64_t i) {
      T slope = std::clamp(sigma2 * diff.data()[i], T{-1}, T{1}) * dout.data()[i / width];
      if (inside) slope *= inside.data()[i];
      if (outside) slope *= outside.data()[i];
      if (dx) dx.data()[i] = slope;
      if (dy) dy.data()[i] = -slope;
    });
  };
};

const Slot kInside = {
    .name = "InsideWeight", .doc = "factors of the differences", .optional = true, .no_grad = true};
const Slot kOutside = {
    .name = "OutsideWeight", .doc = "factors of the losses", .optional = true, .no_grad = true};

Slot like_diff(Slot slot) {
  slot.like = "Diff";
  return slot;
}

const OpDef& smooth_l1_loss = define_op({
    .type = "smooth_l1_loss",
    .doc = "Row sums of the squares of small differences and of the sizes of large ones.",
    .inputs = {{"X", "predictions, [rows, ...]"}, {"Y", "targets"}, kInside, kOutside},
    .outputs = {{.name = "Diff", .doc = "weighted differences", .no_grad = true},
                {"Out", "[rows, 1]"}},
    .attrs = {{"sigma", 1.0f, "how soon the square becomes a straight line"}},
    .infer = infer_smooth,
    .grad = grad_op({"InsideWeight", "OutsideWeight", "Diff"},
                    {.kernels = kernels_for<float, double>(smooth_grad),
                     .infer = infer_smooth_grad,
                     .inputs = {like_diff(kInside), like_diff(kOutside)}}),
    .kernels = kernels_for<float, double>(smooth),
});

}  // namespace
}  // namespace flotilla::ops
