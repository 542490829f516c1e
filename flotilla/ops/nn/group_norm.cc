// flotilla/ops/nn/group_norm.cc
//
// group_norm:    each image's channels are cut into groups, and each group is shifted and scaled to
//                mean zero and variance one, then channel by channel by Scale and Bias
// instance_norm: the same with a group for each channel; SavedVariance holds 1 / sqrt(variance +
//                epsilon)

#include <algorithm>
#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
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

void infer(InferContext& c) {
  const Shape& given = c.in("X").shape;
  require(given.rank() >= 2, "X must have rank 2 or more, but has shape {}", given);
  const Shape x = format_of(c).first(given);
  const int64_t groups = is_instance(c) ? x[1] : c.attr<int64_t>("groups");
  require(x[1] < 0 || (groups > 0 && x[1] % groups == 0),
          "{} channels cannot be cut into {} groups", x[1], groups);
  for (const std::string_view slot : {"Scale", "Bias"}) {
    if (!c.has_in(slot)) continue;
    const Shape& shape = c.in(slot).shape;
    require(shape.numel() == x[1] || x[1] < 0 || !shape.known(),
            "{} must hold a number for each of {} channels, but has shape {}", slot, x[1], shape);
  }
  c.out("Y") = c.in("X");
  if (is_instance(c)) {
    const int64_t count = x[0] < 0 || x[1] < 0 ? -1 : x[0] * x[1];
    c.out("SavedMean") = VarMeta::tensor(c.in("X").dtype, {count});
    c.out("SavedVariance") = c.out("SavedMean");
  } else {
    c.out("Mean") = VarMeta::tensor(c.in("X").dtype, {x[0], groups});
    c.out("Variance") = c.out("Mean");
  }
}

void infer_grad(InferContext& c) {
  const Shape x = format_of(c).first(c.in("X").shape);
  c.out("X@GRAD") = c.in("X");
  c.out("Scale@GRAD") = VarMeta::tensor(c.in("X").dtype, {x[1]});
  c.out("Bias@GRAD") = c.out("Scale@GRAD");
}

// Where the elements of a group lie. A group is group % groups of image group / groups.
struct Groups {
  int64_t batch, channels, spatial, groups;
  bool last;  // channels innermost

  explicit Groups(const PrepareContext& c) {
    const DataFormat format = format_of(c);
    const Shape x = format.first(c.shape("X"));
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

template <typename T>
Step forward(PrepareContext& c) {
  const bool instance = is_instance(c);
  return [g = Groups(c), instance, epsilon = static_cast<double>(c.attr<float>("epsilon")),
          x = c.in<T>("X"), scale = c.has("Scale") ? c.in<T>("Scale") : In<T>(),
          bias = c.has("Bias") ? c.in<T>("Bias") : In<T>(), y = c.out<T>("Y"),
          means = c.out<T>(instance ? "SavedMean" : "Mean"),
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
}

template <typename T>
Step backward(PrepareContext& c) {
  const bool instance = is_instance(c);
  return [g = Groups(c), instance, epsilon = static_cast<double>(c.attr<float>("epsilon")),
          x = c.in<T>("X"), scale = c.has("Scale") ? c.in<T>("Scale") : In<T>(),
          dy = c.in<T>("Y@GRAD"), means = c.in<T>(instance ? "SavedMean" : "Mean"),
          spreads = c.in<T>(instance ? "SavedVariance" : "Variance"),
          dx = c.has("X@GRAD") ? c.out<T>("X@GRAD") : Out<T>(),
          dscale = c.has("Scale@GRAD") ? c.out<T>("Scale@GRAD") : Out<T>(),
          dbias = c.has("Bias@GRAD") ? c.out<T>("Bias@GRAD") : Out<T>()] {
    const auto inverse_of = [&](int64_t group) {
      const auto spread = static_cast<double>(spreads.data()[group]);
      return instance ? spread : 1 / std::sqrt(spread + epsilon);
    };
    if (dx) {
      parallel_for(g.count(), g.cost(), [&](int64_t group) {
        const auto mean = static_cast<double>(means.data()[group]), inverse = inverse_of(group);
        const auto gradient = [&](int64_t channel, int64_t i) {
          return static_cast<double>(dy.data()[i]) *
                 (scale ? static_cast<double>(scale.data()[channel]) : 1.0);
        };
        double sum = 0, dot = 0;
        g.for_each(group, [&](int64_t channel, int64_t i) {
          sum += gradient(channel, i);
          dot += gradient(channel, i) * (static_cast<double>(x.data()[i]) - mean);
        });
        const double n = static_cast<double>(g.size()), slope = inverse * inverse * dot / n;
        g.for_each(group, [&](int64_t channel, int64_t i) {
          const double off = static_cast<double>(x.data()[i]) - mean;
          dx.data()[i] = static_cast<T>(inverse * (gradient(channel, i) - sum / n - off * slope));
        });
      });
    }
    if (!dscale && !dbias) return;
    parallel_for(g.channels, g.batch * g.spatial * 4, [&](int64_t channel) {
      double products = 0, sum = 0;
      for (int64_t image = 0; image < g.batch; ++image) {
        const int64_t group = image * g.groups + channel / g.width();
        const auto mean = static_cast<double>(means.data()[group]), inverse = inverse_of(group);
        for (int64_t place = 0; place < g.spatial; ++place) {
          const int64_t i = g.at(image, channel, place);
          const auto d = static_cast<double>(dy.data()[i]);
          products += d * (static_cast<double>(x.data()[i]) - mean) * inverse;
          sum += d;
        }
      }
      if (dscale) dscale.data()[channel] = static_cast<T>(products);
      if (dbias) dbias.data()[channel] = static_cast<T>(sum);
    });
  };
}

const AttrSpec kEpsilon = {"epsilon", 1e-5f, "keeps the divisor above zero"};
const std::vector<AttrSpec> kGroupAttrs = {kEpsilon,
                                           {"groups", -1, "how many the channels are cut into"},
                                           {"data_layout", "NCHW", "NCHW or NHWC"}};
const Slot kScale = {.name = "Scale", .doc = "of each channel; by default 1", .optional = true};
const Slot kBias = {.name = "Bias", .doc = "of each channel; by default 0", .optional = true};

Slot statistic(std::string name, std::string doc) {
  return {.name = std::move(name), .doc = std::move(doc), .no_grad = true};
}

OpDef backward_definition(const std::string& type, std::string mean, std::string spread) {
  return {.type = type + "_grad",
          .doc = "Gradient of " + type + ".",
          .inputs = {{"X", "as before"},
                     kScale,
                     {.name = "Bias", .doc = "as before", .optional = true, .shape_only = true},
                     {.name = "Y", .doc = "as before", .optional = true, .shape_only = true},
                     {std::move(mean), "as before"},
                     {std::move(spread), "as before"},
                     {"Y@GRAD", "gradient of Y"}},
          .outputs = {{.name = "X@GRAD", .doc = "gradient of X", .optional = true},
                      {.name = "Scale@GRAD", .doc = "gradient of Scale", .optional = true},
                      {.name = "Bias@GRAD", .doc = "gradient of Bias", .optional = true}},
          .attrs = type == "group_norm" ? kGroupAttrs : std::vector<AttrSpec>{kEpsilon},
          .infer = infer_grad,
          .kernels = kernels_for<float, double>(
              []<typename T>(PrepareContext& c) { return backward<T>(c); })};
}

const OpDef& group_norm = define_op({
    .type = "group_norm",
    .doc = "Shifts and scales groups of channels of each image to mean zero and variance one.",
    .inputs = {{"X", "[N, C, ...] or [N, ..., C]"}, kScale, kBias},
    .outputs = {{"Y", "like X"},
                statistic("Mean", "[N, groups]"),
                statistic("Variance", "[N, groups]")},
    .attrs = kGroupAttrs,
    .infer = infer,
    .grad = grad_op({"X", "Scale", "Bias", "Y", "Mean", "Variance"}),
    .kernels =
        kernels_for<float, double>([]<typename T>(PrepareContext& c) { return forward<T>(c); }),
});
const OpDef& group_norm_grad = define_op(backward_definition("group_norm", "Mean", "Variance"));

const OpDef& instance_norm = define_op({
    .type = "instance_norm",
    .doc = "Shifts and scales each channel of each image to mean zero and variance one.",
    .inputs = {{"X", "[N, C, ...]"}, kScale, kBias},
    .outputs = {{"Y", "like X"},
                statistic("SavedMean", "[N * C]"),
                statistic("SavedVariance", "1 / sqrt(variance + epsilon), [N * C]")},
    .attrs = {kEpsilon},
    .infer = infer,
    .grad = grad_op({"X", "Scale", "SavedMean", "SavedVariance"}),
    .kernels =
        kernels_for<float, double>([]<typename T>(PrepareContext& c) { return forward<T>(c); }),
});
const OpDef& instance_norm_grad =
    define_op(backward_definition("instance_norm", "SavedMean", "SavedVariance"));

}  // namespace
}  // namespace flotilla::ops
