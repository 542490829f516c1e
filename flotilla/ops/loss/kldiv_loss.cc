// flotilla/ops/loss/kldiv_loss.cc
//
// kldiv_loss: Target * (log(Target) - X), element by element, for logarithms of probabilities X and
// probabilities Target; where Target is not positive, 0. `reduction` sums up: mean over all
// elements, batchmean over the first axis, sum, or none.

#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const Shape& target = c.in("Target").shape;
  const bool fits = x == target || ((!x.known() || !target.known()) && x.rank() == target.rank());
  require(fits, "Target must have the shape of X, but is {} and X is {}", target, x);
  const auto reduction = c.attr<std::string>("reduction");
  require(
      reduction == "none" || reduction == "mean" || reduction == "batchmean" || reduction == "sum",
      "reduction must be none, mean, batchmean or sum, but is \"{}\"", reduction);
  c.out("Loss") = c.in("X");
  if (reduction != "none") c.out("Loss") = VarMeta::tensor(c.dtype("X"), {1});
}

double scale_of(const std::string& reduction, const Shape& x) {
  if (reduction == "mean") return 1.0 / static_cast<double>(x.numel());
  if (reduction == "batchmean") return 1.0 / static_cast<double>(x[0]);
  return 1;
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const auto reduction = c.attr<std::string>("reduction");
  const int64_t n = c.shape("X").numel();
  const bool sums = reduction != "none";
  return [n, sums, scale = scale_of(reduction, c.shape("X")), x = c.in<T>("X"),
          target = c.in<T>("Target"), loss = c.out<T>("Loss")] {
    const auto element = [&](int64_t i) {
      const T t = target.data()[i];
      return t > 0 ? t * (std::log(t) - x.data()[i]) : T{0};
    };
    if (!sums) {
      parallel_for(n, 16, [&](int64_t i) { loss.data()[i] = element(i); });
      return;
    }
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(element(i));
    *loss.data() = static_cast<T>(sum * scale);
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const auto reduction = c.attr<std::string>("reduction");
  const int64_t n = c.shape("X").numel();
  const bool sums = reduction != "none";
  return [n, sums, scale = static_cast<T>(scale_of(reduction, c.shape("X"))),
          target = c.in<T>("Target"), dloss = c.in<T>("Loss@GRAD"), dx = c.out<T>("X@GRAD")] {
    parallel_for(n, 4, [&](int64_t i) {
      const T t = target.data()[i];
      dx.data()[i] = t > 0 ? -t * scale * dloss.data()[sums ? 0 : i] : T{0};
    });
  };
};

const AttrSpec kReduction = {"reduction", "mean", "none, mean, batchmean or sum"};
const Slot kTarget = {.name = "Target", .doc = "probabilities", .no_grad = true};

const OpDef& kldiv_loss = define_op({
    .type = "kldiv_loss",
    .doc = "The Kullback-Leibler divergence of X from Target.",
    .inputs = {{"X", "logarithms of probabilities"}, kTarget},
    .outputs = {{"Loss", "one number, or like X"}},
    .attrs = {kReduction},
    .infer = infer,
    .grad = grad_op({shape_of("X"), "Target"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
