// flotilla/ops/loss/nce.cc
//
// nce: noise-contrastive estimation (Gutmann and Hyvärinen, 2010). Each sample is told apart from
// `num_neg_samples` classes that a sampler draws.
//
//   o = sigmoid(Input . Weight[class] + Bias[class]), q = num_neg_samples * P(class)
//   Cost = SampleWeight * (sum over its labels of -log(o / (o + q)) +
//                          sum over drawn classes of -log(q / (o + q)))
//
// SampleLabels are the labels, then the drawn classes; SampleLogits are the o of each.

#include <cmath>

#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/scalar.h"
#include "flotilla/ops/loss/chosen_rows.h"

namespace flotilla::ops {
namespace {

enum Sampling { kUniform, kLogUniform, kCustom };

const ScoreSlots kSlots = {"Input", "Weight"};

int64_t checked_class(int64_t label, int64_t classes) {
  require(0 <= label && label < classes, "class {} is drawn, but there are the classes 0 to {}",
          label, classes - 1);
  return label;
}

void infer(InferContext& c) {
  check_labels(c, "Label");
  const Shape &input = c.in("Input").shape, &label = c.in("Label").shape;
  const Shape& weight = c.in("Weight").shape;
  const int64_t classes = c.attr<int64_t>("num_total_classes"),
                drawn = c.attr<int64_t>("num_neg_samples"), sampler = c.attr<int64_t>("sampler");
  require(input.rank() == 2 && label.rank() == 2 && fits(input[0], label[0]),
          "Input and Label must be matrices with a row for each sample, but are {}, {}", input,
          label);
  require(
      classes > 0 && drawn >= 0,
      "num_total_classes must be positive and num_neg_samples not negative, but they are {} and "
      "{}",
      classes, drawn);
  check_count(c, "SampleWeight", input[0]);
  for (const char* slot : {"Bias", "CustomDistProbs", "CustomDistAlias", "CustomDistAliasProbs"}) {
    check_count(c, slot, classes);
  }
  require(weight.rank() == 2 && weight[0] == classes && fits(input[1], weight[1]),
          "Weight must have shape [{}, {}], but has {}", classes, input[1], weight);
  require(0 <= sampler && sampler <= 2,
          "sampler must be 0 (uniform), 1 (log-uniform) or 2 (custom), but is {}", sampler);
  require(sampler != kCustom || (c.has_in("CustomDistProbs") && c.has_in("CustomDistAlias") &&
                                 c.has_in("CustomDistAliasProbs")),
          "sampler 2 needs CustomDistProbs, CustomDistAlias and CustomDistAliasProbs");
  const std::vector<int64_t> chosen = c.attr<std::vector<int64_t>>("custom_neg_classes");
  require(chosen.empty() || std::ssize(chosen) == drawn,
          "custom_neg_classes names {} classes, but num_neg_samples is {}", chosen.size(), drawn);
  for (const int64_t label : chosen) checked_class(label, classes);
  const int64_t both = label[1] < 0 ? -1 : label[1] + drawn;
  c.out("Cost") = VarMeta::tensor(c.dtype("Input"), Shape{input[0], 1});
  c.out("SampleLogits") = VarMeta::tensor(c.dtype("Input"), Shape{input[0], both});
  c.out("SampleLabels") = VarMeta::tensor(i64, Shape{input[0], both});
}

// Draws classes and knows how likely each was.
class Sampler {
 public:
  explicit Sampler(PrepareContext& c)
      : kind_(static_cast<Sampling>(c.attr<int64_t>("sampler"))),
        classes_(c.attr<int64_t>("num_total_classes")) {
    if (kind_ != kCustom) return;
    probabilities_ = c.in<float>("CustomDistProbs");
    aliases_ = c.in<int32_t>("CustomDistAlias");
    alias_probabilities_ = c.in<float>("CustomDistAliasProbs");
  }

  double probability(int64_t label) const {
    const double n = static_cast<double>(classes_), k = static_cast<double>(label);
    if (kind_ == kUniform) return 1 / n;
    if (kind_ == kLogUniform) return std::log((k + 2) / (k + 1)) / std::log(n);
    return static_cast<double>(probabilities_.data()[label]);
  }

  int64_t draw(uint32_t first, uint32_t second) const {
    const double u = unit_number<double>(first), n = static_cast<double>(classes_);
    if (kind_ == kLogUniform) {
      return std::min(static_cast<int64_t>(std::exp(u * std::log(n))) - 1, classes_ - 1);
    }
    const int64_t place = std::min(static_cast<int64_t>(u * n), classes_ - 1);
    if (kind_ == kUniform) return place;
    // An alias table (Walker, 1977): a column is one class up to its level, and another above it.
    const int64_t other = aliases_.data()[place];
    const bool keeps = other < 0 || unit_number<double>(second) <
                                        static_cast<double>(alias_probabilities_.data()[place]);
    return keeps ? place : checked_class(other, classes_);
  }

 private:
  Sampling kind_;
  int64_t classes_;
  In<float> probabilities_;
  In<int32_t> aliases_;
  In<float> alias_probabilities_;
};

// The classes of each sample: its labels, then those that were drawn.
struct Classes {
  int64_t samples, labels, drawn, most;
  int64_t all;              // classes there are
  In<int64_t> chosen = {};  // SampleLabels, where they are there already

  explicit Classes(PrepareContext& c)
      : samples(c.shape("Input")[0]),
        labels(c.shape("Label")[1]),
        drawn(c.attr<int64_t>("num_neg_samples")),
        most(labels + drawn),
        all(c.attr<int64_t>("num_total_classes")) {}

  int64_t count(int64_t) const { return most; }
  int64_t row(int64_t i, int64_t k) const {
    return checked_class(chosen.data()[i * most + k], all);
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t seed = c.attr<int64_t>("seed");
  return [s = Classes(c), sampler = Sampler(c), labels = LabelsIn(c, "Label"),
          chosen = c.attr<std::vector<int64_t>>("custom_neg_classes"), random = c.random(seed),
          repeats = seed != 0, runs = uint64_t{0}, scores = Scores<T>(c, kSlots),
          weights = given<T>(c, "SampleWeight"), cost = c.out<T>("Cost"),
          logits = c.out<T>("SampleLogits"), classes = c.out<int64_t>("SampleLabels")]() mutable {
    const RandomStream stream = random.draw(repeats ? 0 : runs++);
    parallel_for(s.samples, s.most * (scores.width + 40), [&](int64_t i) {
      T total = 0;
      for (int64_t k = 0; k < s.most; ++k) {
        const int64_t at = i * s.most + k, drawn = k - s.labels;
        const std::array<uint32_t, 4> bits = stream.at(static_cast<uint64_t>(at));
        const int64_t label = drawn < 0        ? labels.checked(i * s.labels + k, s.all, 0)
                              : chosen.empty() ? sampler.draw(bits[0], bits[1])
                                               : chosen[static_cast<size_t>(drawn)];
        const T o = exact::sigmoid(scores(i, label));
        const T q = static_cast<T>(sampler.probability(label) * static_cast<double>(s.drawn));
        total -= std::log((drawn < 0 ? o : q) / (o + q));
        classes.data()[at] = label;
        logits.data()[at] = o;
      }
      cost.data()[i] = total * (weights ? weights.data()[i] : T{1});
    });
  };
};

void infer_grad(InferContext& c) {
  infer_score_grads(c, kSlots, c.in("SampleLabels").shape.numel());
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  Classes s(c);
  s.chosen = c.in<int64_t>("SampleLabels");
  const auto slope = [s, sampler = Sampler(c), logits = c.in<T>("SampleLogits"),
                      weights = given<T>(c, "SampleWeight"),
                      dcost = c.in<T>("Cost@GRAD")](int64_t i, int64_t k) {
    const T o = logits.data()[i * s.most + k];
    const T g = dcost.data()[i] * (weights ? weights.data()[i] : T{1});
    const double chance = sampler.probability(s.row(i, k));
    const T q = static_cast<T>(chance * static_cast<double>(s.drawn));
    return g * (k < s.labels ? q * (o - 1) : o * (1 - o)) / (o + q);
  };
  return score_grads<T>(c, kSlots, s, slope);
};

const OpDef& nce = define_op({
    .type = "nce",
    .doc = "How well samples are told apart from classes that are drawn.",
    .inputs = {{.name = "Input", .doc = "[samples, width]"},
               constant("Label", "[samples, labels of each]"),
               {.name = "Weight", .doc = "[classes, width]"},
               {.name = "Bias", .doc = "[classes, 1]", .optional = true},
               optional_constant("SampleWeight", "of each sample"),
               optional_constant("CustomDistProbs", "of each class"),
               optional_constant("CustomDistAlias", "another class, or -1"),
               optional_constant("CustomDistAliasProbs", "up to where it is not the other")},
    .outputs = {{.name = "Cost", .doc = "[samples, 1]"},
                constant("SampleLogits", "a number for each class"),
                constant("SampleLabels", "the labels, then drawn classes")},
    .attrs = with_score_attrs(
        {{"num_total_classes", 0, "number of classes"},
         {"num_neg_samples", 10, "classes drawn for each sample"},
         {"sampler", 0, "0: uniform, 1: log-uniform, 2: CustomDistProbs"},
         {"seed", 0, "not 0: the same classes are drawn in each run"},
         {"custom_neg_classes", std::vector<int32_t>{}, "classes to take instead of drawing"},
         {"is_test", false, "of no effect"}}),
    .infer = infer,
    .grad = grad_op(
        {"Input", shape_of("Label"), "Weight", shape_of("Bias"), "SampleWeight", "CustomDistProbs",
         "CustomDistAlias", "CustomDistAliasProbs", "SampleLogits", "SampleLabels"},
        {.kernels = kernels_for<float, double>(backward), .infer = infer_grad}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
