// flotilla/ops/loss/softmax_with_cross_entropy.cc
//
// Softmax = softmax(Logits) and Loss = -log(Softmax[label]), slice by slice along `axis`; with soft
// labels Loss = -sum(Label * log(Softmax)). Without use_softmax, Logits hold probabilities already.

#include <algorithm>

#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/common/softmax_rows.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape& logits = c.in("Logits").shape;
  const Shape& label = c.in("Label").shape;
  const int64_t axis = c.attr<int64_t>("axis");
  check_axis("Logits", logits, axis);
  Shape loss = logits;
  loss[logits.axis(axis)] = 1;
  const bool soft = c.attr<bool>("soft_label");
  if (!soft) check_labels(c, "Label");
  const Shape& wanted = soft ? logits : loss;
  require(fits(label, wanted), "Label must have shape {} because Logits is {}, but has shape {}",
          wanted, logits, label);
  c.out("Softmax") = c.in("Logits");
  c.out("Loss") = like(c.in("Logits"), loss);
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t axis = c.attr<int64_t>("axis");
  const Shape& shape = c.shape("Logits");
  const Slices s = slices(shape, axis);
  const bool soft = c.attr<bool>("soft_label"), use_softmax = c.attr<bool>("use_softmax");
  const SoftmaxRows<T> softmax(c, shape, axis);
  return [=, ignored = c.attr<int64_t>("ignore_index"), in = c.in<T>("Logits"),
          out = c.out<T>("Softmax"), loss = c.out<T>("Loss"),
          labels = soft ? LabelsIn() : LabelsIn(c, "Label"),
          chances = soft ? c.in<T>("Label") : In<T>()] {
    const T* x = in.data();
    T* p = out.data();
    if (use_softmax) {
      softmax.run(x, p);
    } else {
      std::copy_n(x, s.count() * s.n, p);
    }
    parallel_for(s.count(), soft ? s.n * 16 : 64, [&](int64_t slice) {
      const int64_t begin = s.begin(slice), end = s.end(slice);
      T sum = 0;
      if (soft) {
        const T* q = chances.data();
        for (int64_t i = begin; i < end; i += s.stride)
          sum += q[i] == 0 ? 0 : q[i] * minus_log(p[i]);
      } else if (const int64_t label = labels.checked(slice, s.n, ignored); label != ignored) {
        sum = minus_log(p[begin + label * s.stride]);
      }
      loss.data()[slice] = sum;
    });
  };
};

// With softmax: dLogits = (Softmax - label) * dLoss; without: dLogits = -label / p * dLoss.
constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Slices s = slices(c.shape("Softmax"), c.attr<int64_t>("axis"));
  const bool soft = c.attr<bool>("soft_label"), use_softmax = c.attr<bool>("use_softmax");
  c.in_place("Softmax", "Logits@GRAD");
  return [=, ignored = c.attr<int64_t>("ignore_index"), in = c.in<T>("Softmax"),
          dloss = c.in<T>("Loss@GRAD"), out = c.out<T>("Logits@GRAD"),
          labels = soft ? LabelsIn() : LabelsIn(c, "Label"),
          chances = soft ? c.in<T>("Label") : In<T>()] {
    const T* p = in.data();
    T* dx = out.data();
    parallel_for(s.count(), s.n * 2, [&](int64_t slice) {
      const int64_t begin = s.begin(slice), end = s.end(slice);
      const T d = dloss.data()[slice];
      if (soft) {
        const T* q = chances.data();
        for (int64_t i = begin; i < end; i += s.stride) {
          // The sum of soft labels may differ from one, hence no Softmax - label here.
          dx[i] = use_softmax ? p[i] - q[i] : -q[i] / p[i];
          dx[i] *= d;
        }
        return;
      }
      const int64_t label = labels.checked(slice, s.n, ignored), at = begin + label * s.stride;
      const T chance = label == ignored ? T{1} : p[at];
      const T kept = use_softmax && label != ignored ? d : T{0};
      for (int64_t i = begin; i < end; i += s.stride) dx[i] = kept == 0 ? T{0} : p[i] * kept;
      if (label != ignored) dx[at] = (use_softmax ? chance - 1 : -1 / chance) * d;
    });
  };
};

const OpDef& softmax_with_cross_entropy = define_op({
    .type = "softmax_with_cross_entropy",
    .doc = "Softmax of Logits, and minus the logarithm of the probability of the label.",
    .inputs = {{"Logits", "tensor of rank 1 or more"},
               constant("Label", "class numbers, with extent 1 along `axis`, or like Logits")},
    .outputs = {{.name = "Softmax", .doc = "like Logits", .no_grad = true, .like = "Logits"},
                {"Loss", "extent 1 along `axis`"}},
    .attrs = {{"soft_label", false, "whether Label holds probabilities"},
              {"use_softmax", true, "whether Logits need a softmax; else they are probabilities"},
              {"numeric_stable_mode", true, "ignored: it always is"},
              {"ignore_index", -100, "slices with this label cost nothing"},
              {"axis", -1, "direction of the classes; negative counts from the end"}},
    .infer = infer,
    .grad = float_grad({"Label", "Softmax"}, backward),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
