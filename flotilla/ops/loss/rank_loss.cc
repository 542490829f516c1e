// flotilla/ops/loss/rank_loss.cc
//
// Losses of pairs, of which Label says the order:
//
//   rank_loss         log(1 + exp(d)) - Label d, d = Left - Right (RankNet: Burges et al., 2005)
//   margin_rank_loss  max(0, margin - Label (X1 - X2));  Activated: 1 where that is above zero

#include <algorithm>
#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/loss/softplus.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/optional_slots.h"

namespace flotilla::ops {
namespace {

void check_pairs(const InferContext& c, std::string_view first, std::string_view second) {
  const Shape& label = c.in("Label").shape;
  for (const std::string_view slot : {first, second}) {
    const Shape& x = c.in(slot).shape;
    require(x == label || ((!x.known() || !label.known()) && x.rank() == label.rank()),
            "{} must have the shape of Label, but is {} and Label is {}", slot, x, label);
  }
}

void infer_rank(InferContext& c) {
  check_pairs(c, "Left", "Right");
  c.out("Out") = like(c.in("Label"));
}

constexpr auto rank = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("Label").numel(), label = c.in<T>("Label"), left = c.in<T>("Left"),
          right = c.in<T>("Right"), out = c.out<T>("Out")] {
    parallel_for(n, 16, [&](int64_t i) {
      const T d = left.data()[i] - right.data()[i];
      out.data()[i] = softplus(d) - label.data()[i] * d;
    });
  };
};

constexpr auto rank_grad = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("Label").numel(), label = c.in<T>("Label"), left = c.in<T>("Left"),
          right = c.in<T>("Right"), dout = c.in<T>("Out@GRAD"), dleft = wanted<T>(c, "Left@GRAD"),
          dright = wanted<T>(c, "Right@GRAD")] {
    parallel_for(n, 16, [&](int64_t i) {
      const T d = left.data()[i] - right.data()[i];
      const T slope = dout.data()[i] * (1 / (1 + std::exp(-d)) - label.data()[i]);
      if (dleft) dleft.data()[i] = slope;
      if (dright) dright.data()[i] = -slope;
    });
  };
};

const OpDef& rank_loss = define_op({
    .type = "rank_loss",
    .doc = "The cross entropy of the probability that Left stands before Right.",
    .inputs = {{.name = "Label", .doc = "1: Left is before Right; 0: behind", .no_grad = true},
               {.name = "Left", .doc = "scores"},
               {.name = "Right", .doc = "scores"}},
    .outputs = {{.name = "Out", .doc = "a loss for each pair"}},
    .infer = infer_rank,
    .grad = grad_op({"Label", "Left", "Right"}, {.kernels = kernels_for<float, double>(rank_grad)}),
    .kernels = kernels_for<float, double>(rank),
});

void infer_margin(InferContext& c) {
  check_pairs(c, "X1", "X2");
  c.out("Out") = like(c.in("Label"));
  c.out("Activated") = like(c.in("Label"));
}

constexpr auto margin = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("Label").numel(), margin = static_cast<T>(c.attr<float>("margin")),
          label = c.in<T>("Label"), x1 = c.in<T>("X1"), x2 = c.in<T>("X2"), out = c.out<T>("Out"),
          activated = c.out<T>("Activated")] {
    parallel_for(n, 4, [&](int64_t i) {
      const T loss = margin - label.data()[i] * (x1.data()[i] - x2.data()[i]);
      out.data()[i] = std::max(loss, T{0});
      activated.data()[i] = static_cast<T>(loss > 0);
    });
  };
};

void infer_margin_grad(InferContext& c) {
  c.out("X1@GRAD") = like(c.in("Label"));
  c.out("X2@GRAD") = like(c.in("Label"));
}

constexpr auto margin_grad = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("Label").numel(), label = c.in<T>("Label"), activated = c.in<T>("Activated"),
          dout = c.in<T>("Out@GRAD"), d1 = wanted<T>(c, "X1@GRAD"), d2 = wanted<T>(c, "X2@GRAD")] {
    parallel_for(n, 4, [&](int64_t i) {
      const T slope = dout.data()[i] * activated.data()[i] * label.data()[i];
      if (d1) d1.data()[i] = -slope;
      if (d2) d2.data()[i] = slope;
    });
  };
};

const OpDef& margin_rank_loss = define_op({
    .type = "margin_rank_loss",
    .doc = "How far pairs are from their order, with a margin.",
    .inputs = {{.name = "X1", .doc = "scores"},
               {.name = "X2", .doc = "scores"},
               {.name = "Label", .doc = "1: X1 ranks higher; -1: lower", .no_grad = true}},
    .outputs =
        {{.name = "Activated", .doc = "1 where there is a loss", .no_grad = true, .like = "Label"},
         {.name = "Out", .doc = "a loss for each pair", .like = "Label"}},
    .attrs = {{"margin", 0.0f, "how far apart a pair must be to cost nothing"}},
    .infer = infer_margin,
    .grad = grad_op({"Label", "Activated"}, {.kernels = kernels_for<float, double>(margin_grad),
                                             .infer = infer_margin_grad}),
    .kernels = kernels_for<float, double>(margin),
});

}  // namespace
}  // namespace flotilla::ops
