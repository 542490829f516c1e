// flotilla/ops/nn/group_instance_norm.cc
//
// group_norm:    each image's channels are cut into groups, and each group is shifted and scaled to
//                mean zero and variance one, then channel by channel by Scale and Bias
// instance_norm: the same with a group for each channel; SavedVariance holds 1 / sqrt(variance +
//                epsilon)

#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/nn/channels.h"

namespace flotilla::ops {
namespace {

template <typename Context>
bool is_instance(const Context& c) {
  return c.op().type().starts_with("instance_norm");
}

template <typename Context>
DataFormat format_of(const Context& c) {
  return DataFormat(is_instance(c) ? "NCHW" : c.template attr<std::string>("data_layout"));
}

// The shape with channels first, and how many groups they are cut into.
struct Cut {
  Shape x = {};
  int64_t groups = 0;
};

Cut check_channels(const InferContext& c, const char* from) {
  const Shape& given = c.in(from).shape;
  require(given.rank() >= 2, "{} must have rank 2 or more, but has shape {}", from, given);
  const Shape x = format_of(c).first(given);
  const int64_t groups = is_instance(c) ? x[1] : c.attr<int64_t>("groups");
  require(x[1] < 0 || (groups > 0 && x[1] % groups == 0),
          "{} channels cannot be cut into {} groups", x[1], groups);
  for (const char* slot : {"Scale", "Bias"}) check_count(c, slot, x[1]);
  return {x, groups};
}

void infer(InferContext& c) {
  const auto [x, groups] = check_channels(c, "X");
  c.out("Y") = c.in("X");
  if (is_instance(c)) {
    const int64_t count = x[0] < 0 || x[1] < 0 ? -1 : x[0] * x[1];
    c.out("SavedMean") = c.out("SavedVariance") = VarMeta::tensor(c.dtype("X"), {count});
  } else {
    c.out("Mean") = c.out("Variance") = VarMeta::tensor(c.dtype("X"), {x[0], groups});
  }
}

void infer_grad(InferContext& c) {
  const char* from = c.has_in("X") ? "X" : "Y@GRAD";
  const int64_t channels = check_channels(c, from).x[1];
  c.out("X@GRAD") = like(c.in(from));
  c.out("Scale@GRAD") = c.out("Bias@GRAD") = VarMeta::tensor(c.dtype("Y@GRAD"), {channels});
}

// Where the elements of a group lie. A group is group % groups of image group / groups.
struct Groups {
  int64_t batch, channels, spatial, groups;
  bool last;  // channels innermost

  Groups(const PrepareContext& c, const char* slot) {
    const DataFormat format = format_of(c);
    const Shape x = format.first(c.shape(slot));
    batch = x[0];
    channels = x[1];
    spatial = x.numel(2, x.rank());
    groups = is_instance(c) ? channels : c.attr<int64_t>("groups");
    last = format.channels_last() && x.rank() > 2;
  }

  int64_t count() const { return batch * groups; }
  int64_t width() const { return channels / groups; }
  int64_t size() const { return width() * spatial; }
  int64_t cost() const { return size() * 8; }
  int64_t at(int64_t image, int64_t channel, int64_t place) const {
    return last ? (image * spatial + place) * channels + channel
                : (image * channels + channel) * spatial + place;
  }
  // Calls f(channel, index) for each element of the group.
  template <typename F>
  void for_each(int64_t group, F f) const {
    const int64_t image = group / groups, first = group % groups * width();
    for (int64_t channel = first; channel < first + width(); ++channel) {
      for (int64_t place = 0; place < spatial; ++place) f(channel, at(image, channel, place));
    }
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const bool instance = is_instance(c);
  return [g = Groups(c, "X"), instance, epsilon = static_cast<double>(c.attr<float>("epsilon")),
          x = c.in<T>("X"), scale = given<T>(c, "Scale"), bias = given<T>(c, "Bias"),
          y = c.out<T>("Y"), means = c.out<T>(instance ? "SavedMean" : "Mean"),
          spreads = c.out<T>(instance ? "SavedVariance" : "Variance")] {
    const auto n = static_cast<double>(g.size());
    parallel_for(g.count(), g.cost(), [&](int64_t group) {
      double sum = 0, squares = 0;
      g.for_each(group, [&](int64_t, int64_t i) { sum += static_cast<double>(x.data()[i]); });
      const double mean = sum / n;
      g.for_each(group, [&](int64_t, int64_t i) {
        const double off = static_cast<double>(x.data()[i]) - mean;
        squares += off * off;
      });
      const double variance = squares / n, inverse = 1 / std::sqrt(variance + epsilon);
      g.for_each(group, [&](int64_t channel, int64_t i) {
        const T factor = static_cast<T>(inverse) * (scale ? scale.data()[channel] : T{1});
        y.data()[i] =
            (x.data()[i] - static_cast<T>(mean)) * factor + (bias ? bias.data()[channel] : T{0});
      });
      means.data()[group] = static_cast<T>(mean);
      spreads.data()[group] = static_cast<T>(instance ? inverse : variance);
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const bool instance = is_instance(c), from_x = c.has("X");
  require(from_x || (!instance && c.has("Y")), "{} needs the input \"X\" (as before)",
          c.op().type());
  return
      [g = Groups(c, "Y@GRAD"), instance, epsilon = static_cast<double>(c.attr<float>("epsilon")),
       spreads = c.in<T>(instance ? "SavedVariance" : "Variance"),
       means = from_x ? c.in<T>(instance ? "SavedMean" : "Mean") : In<T>(),
       x = c.in<T>(from_x ? "X" : "Y"), scale = given<T>(c, "Scale"),
       bias = from_x ? In<T>() : given<T>(c, "Bias"), dy = c.in<T>("Y@GRAD"),
       dx = wanted<T>(c, "X@GRAD"), dscale = wanted<T>(c, "Scale@GRAD"),
       dbias = wanted<T>(c, "Bias@GRAD")] {
        const auto number = [](const In<T>& in, int64_t i, double otherwise) {
          return in ? static_cast<double>(in.data()[i]) : otherwise;
        };
        const auto inverse_of = [&](int64_t group) {
          const double spread = number(spreads, group, 0);
          return instance ? spread : 1 / std::sqrt(spread + epsilon);
        };
        // Element i before Scale and Bias: from X and the statistics or, in programs of Paddle 1.8,
        // whose gradient op has no X, from Y.
        const auto normal = [&](int64_t group, int64_t channel, int64_t i, double inverse) {
          if (means) return (number(x, i, 0) - number(means, group, 0)) * inverse;
          const double by = number(scale, channel, 1);
          return by == 0 ? 0.0 : (number(x, i, 0) - number(bias, channel, 0)) / by;
        };
        if (dx) {
          parallel_for(g.count(), g.cost(), [&](int64_t group) {
            const auto gradient = [&](int64_t channel, int64_t i) {
              return number(dy, i, 0) * number(scale, channel, 1);
            };
            const double n = static_cast<double>(g.size()), inverse = inverse_of(group);
            double sum = 0, dot = 0;
            g.for_each(group, [&](int64_t channel, int64_t i) {
              sum += gradient(channel, i);
              dot += gradient(channel, i) * normal(group, channel, i, inverse);
            });
            g.for_each(group, [&](int64_t channel, int64_t i) {
              const double along = normal(group, channel, i, inverse) * dot / n;
              dx.data()[i] = static_cast<T>(inverse * (gradient(channel, i) - sum / n - along));
            });
          });
        }
        if (!dscale && !dbias) return;
        parallel_for(g.channels, g.batch * g.spatial * 4, [&](int64_t channel) {
          double products = 0, sum = 0;
          for (int64_t image = 0; image < g.batch; ++image) {
            const int64_t group = image * g.groups + channel / g.width();
            const double inverse = inverse_of(group);
            for (int64_t place = 0; place < g.spatial; ++place) {
              const int64_t i = g.at(image, channel, place);
              products += number(dy, i, 0) * normal(group, channel, i, inverse);
              sum += number(dy, i, 0);
            }
          }
          if (dscale) dscale.data()[channel] = static_cast<T>(products);
          if (dbias) dbias.data()[channel] = static_cast<T>(sum);
        });
      };
};

const AttrSpec kEpsilon = {"epsilon", 1e-5f, "keeps the divisor above zero"};
const Slot kScale = {.name = "Scale", .doc = "of each channel; by default 1", .optional = true};
const Slot kBias = {.name = "Bias", .doc = "of each channel; by default 0", .optional = true};

const OpDef& group_norm = define_op({
    .type = "group_norm",
    .doc = "Shifts and scales groups of channels of each image to mean zero and variance one.",
    .inputs = {{"X", "[N, C, ...] or [N, ..., C]"}, kScale, kBias},
    .outputs = {{.name = "Y", .doc = "like X", .like = "X"},
                constant("Mean", "[N, groups]"),
                constant("Variance", "[N, groups]")},
    .attrs = {kEpsilon,
              {"groups", -1, "how many the channels are cut into"},
              {"data_layout", "NCHW", "NCHW or NHWC"}},
    .infer = infer,
    .grad = grad_op(
        {"X", "Scale", "Bias", "Y", "Mean", "Variance"},
        {.kernels = kernels_for<float, double>(backward),
         .infer = infer_grad,
         .inputs = {maybe("X", "as before"), maybe("Y", "as before"), maybe("Mean", "as before")}}),
    .kernels = kernels_for<float, double>(forward),
});

const OpDef& instance_norm = define_op({
    .type = "instance_norm",
    .doc = "Shifts and scales each channel of each image to mean zero and variance one.",
    .inputs = {{"X", "[N, C, ...]"}, kScale, kBias},
    .outputs = {{.name = "Y", .doc = "like X", .like = "X"},
                constant("SavedMean", "[N * C]"),
                constant("SavedVariance", "1 / sqrt(variance + epsilon), [N * C]")},
    .attrs = {kEpsilon},
    .infer = infer,
    .grad = grad_op({"X", "Scale", "SavedMean", "SavedVariance"},
                    {.kernels = kernels_for<float, double>(backward),
                     .infer = infer_grad,
                     .inputs = {maybe("Bias", "as before"), maybe("Y", "as before")}}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
