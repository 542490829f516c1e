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

#include <algorithm>
#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/common/scalar.h"
#include "flotilla/ops/loss/labels.h"
#include "flotilla/ops/tensor/optional_slots.h"

namespace flotilla::ops {
namespace {

enum Sampling { kUniform, kLogUniform, kCustom };

// Refuses another number of elements in a slot, where it holds a variable.
void check_numbers(const InferContext& c, std::string_view slot, int64_t count) {
  if (!c.has_in(slot)) return;
  const Shape& shape = c.in(slot).shape;
  require(count < 0 || !shape.known() || shape.numel() == count,
          "{} must hold {} numbers, but has shape {}", slot, count, shape);
}

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
  require(input.rank() == 2 && label.rank() == 2 &&
              (input[0] == label[0] || input[0] < 0 || label[0] < 0),
          "Input and Label must be matrices with a row for each sample, but are {}, {}", input,
          label);
  require(
      classes > 0 && drawn >= 0,
      "num_total_classes must be positive and num_neg_samples not negative, but they are {} and "
      "{}",
      classes, drawn);
  check_numbers(c, "SampleWeight", input[0]);
  for (const char* slot : {"CustomDistProbs", "CustomDistAlias", "CustomDistAliasProbs"}) {
    check_numbers(c, slot, classes);
  }
  require(weight.rank() == 2 && weight[0] == classes && (input[1] < 0 || weight[1] == input[1]),
          "Weight must have shape [{}, {}], but has {}", classes, input[1], weight);
  require(!c.has_in("Bias") || c.in("Bias").shape.numel() == classes,
          "Bias must hold a number for each of {} classes, but has shape {}", classes,
          c.has_in("Bias") ? c.in("Bias").shape : Shape());
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

struct Sizes {
  int64_t rows = 0;
  int64_t width = 0;
  int64_t labels = 0;   // that a sample has
  int64_t drawn = 0;    // classes for a sample
  int64_t classes = 0;  // all

  explicit Sizes(PrepareContext& c)
      : rows(c.shape("Input")[0]),
        width(c.shape("Input")[1]),
        labels(c.shape("Label")[1]),
        drawn(c.attr<int64_t>("num_neg_samples")),
        classes(c.attr<int64_t>("num_total_classes")) {}

  int64_t both() const { return labels + drawn; }
};

template <typename T>
T dot(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t seed = c.attr<int64_t>("seed");
  return [s = Sizes(c), sampler = Sampler(c), labels = LabelsIn(c, "Label"),
          chosen = c.attr<std::vector<int64_t>>("custom_neg_classes"), random = c.random(seed),
          repeats = seed != 0, runs = uint64_t{0}, x = c.in<T>("Input"), w = c.in<T>("Weight"),
          b = given<T>(c, "Bias"), weights = given<T>(c, "SampleWeight"), cost = c.out<T>("Cost"),
          logits = c.out<T>("SampleLogits"), classes = c.out<int64_t>("SampleLabels")]() mutable {
    const RandomStream stream = random.draw(repeats ? 0 : runs++);
    parallel_for(s.rows, s.both() * (s.width + 40), [&](int64_t i) {
      T total = 0;
      for (int64_t k = 0; k < s.both(); ++k) {
        const int64_t at = i * s.both() + k, drawn = k - s.labels;
        const std::array<uint32_t, 4> bits = stream.at(static_cast<uint64_t>(at));
        const int64_t label = drawn < 0        ? labels.checked(i * s.labels + k, s.classes, 0)
                              : chosen.empty() ? sampler.draw(bits[0], bits[1])
                                               : chosen[static_cast<size_t>(drawn)];
        const T z = dot(x.data() + i * s.width, w.data() + label * s.width, s.width) +
                    (b ? b.data()[label] : T{0});
        const T o = exact::sigmoid(z);
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
  const VarMeta& input = c.in("Input");
  const int64_t rows = c.in("SampleLabels").shape.numel();
  c.out("Input@GRAD") = VarMeta::tensor(input.dtype, input.shape);
  for (const char* slot : {"Weight", "Bias"}) {
    if (!c.has_in(slot)) continue;
    VarMeta grad = VarMeta::tensor(input.dtype, c.in(slot).shape);
    if (c.attr<bool>("is_sparse")) {
      grad.kind = VarKind::kSelectedRows;
      grad.rows = rows;
    }
    c.out(std::string(slot) + "@GRAD") = std::move(grad);
  }
}

// The gradient of what goes into each sigmoid.
template <typename T>
Step slopes(PrepareContext& c, const Sizes& s, Out<T> slope) {
  return [=, sampler = Sampler(c), classes = c.in<int64_t>("SampleLabels"),
          logits = c.in<T>("SampleLogits"), weights = given<T>(c, "SampleWeight"),
          dcost = c.in<T>("Cost@GRAD")] {
    parallel_for(s.rows * s.both(), 40, [&](int64_t at) {
      const int64_t i = at / s.both();
      const T o = logits.data()[at], g = dcost.data()[i] * (weights ? weights.data()[i] : T{1});
      const int64_t label = checked_class(classes.data()[at], s.classes);
      const T q = static_cast<T>(sampler.probability(label) * static_cast<double>(s.drawn));
      const bool is_label = at % s.both() < s.labels;
      slope.data()[at] = g * (is_label ? q * (o - 1) : o * (1 - o)) / (o + q);
    });
  };
}

// Of one row for each entry of SampleLabels; `x` null stands for ones, as a bias has them.
template <typename T>
Step spread(PrepareContext& c, const Sizes& s, const char* slot, Out<T> slope, In<T> x) {
  const std::string grad = std::string(slot) + "@GRAD";
  const int64_t width = x ? s.width : 1, count = s.rows * s.both();
  const In<int64_t> classes = c.in<int64_t>("SampleLabels");
  if (c.is_sparse(grad)) {
    return [=, out = c.sparse_out<T>(grad)] {
      std::copy_n(classes.data(), count, out.rows.data());
      for (int64_t at = 0; at < count; ++at) {
        for (int64_t j = 0; j < width; ++j) {
          const T factor = x ? x.data()[at / s.both() * width + j] : T{1};
          out.value.data()[at * width + j] = slope.data()[at] * factor;
        }
      }
    };
  }
  return [=, out = c.out<T>(grad)] {
    std::fill_n(out.data(), s.classes * width, T{0});
    for (int64_t at = 0; at < count; ++at) {
      T* to = out.data() + classes.data()[at] * width;
      for (int64_t j = 0; j < width; ++j) {
        to[j] += slope.data()[at] * (x ? x.data()[at / s.both() * width + j] : T{1});
      }
    }
  };
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Sizes s(c);
  const Out<T> slope = c.workspace<T>(std::max<int64_t>(s.rows * s.both(), 1));
  std::vector<Step> steps = {slopes(c, s, slope)};
  if (c.has("Input@GRAD")) {
    steps.push_back([=, classes = c.in<int64_t>("SampleLabels"), w = c.in<T>("Weight"),
                     dx = c.out<T>("Input@GRAD")] {
      parallel_for(s.rows, s.both() * s.width, [&](int64_t i) {
        T* to = dx.data() + i * s.width;
        std::fill_n(to, s.width, T{0});
        for (int64_t at = i * s.both(); at < (i + 1) * s.both(); ++at) {
          const T* row = w.data() + classes.data()[at] * s.width;
          for (int64_t j = 0; j < s.width; ++j) to[j] += slope.data()[at] * row[j];
        }
      });
    });
  }
  if (c.has("Weight@GRAD")) steps.push_back(spread(c, s, "Weight", slope, c.in<T>("Input")));
  if (c.has("Bias@GRAD")) steps.push_back(spread(c, s, "Bias", slope, In<T>()));
  return [steps] {
    for (const Step& step : steps) step();
  };
};

const OpDef& nce = define_op({
    .type = "nce",
    .doc = "How well samples are told apart from classes that are drawn.",
    .inputs =
        {{.name = "Input", .doc = "[samples, width]"},
         {.name = "Label", .doc = "[samples, labels of each]", .no_grad = true},
         {.name = "Weight", .doc = "[classes, width]"},
         {.name = "Bias", .doc = "[classes, 1]", .optional = true},
         {.name = "SampleWeight", .doc = "of each sample", .optional = true, .no_grad = true},
         {.name = "CustomDistProbs", .doc = "of each class", .optional = true, .no_grad = true},
         {.name = "CustomDistAlias",
          .doc = "another class, or -1",
          .optional = true,
          .no_grad = true},
         {.name = "CustomDistAliasProbs",
          .doc = "up to where it is not the other",
          .optional = true,
          .no_grad = true}},
    .outputs = {{.name = "Cost", .doc = "[samples, 1]"},
                {.name = "SampleLogits", .doc = "a number for each class", .no_grad = true},
                {.name = "SampleLabels", .doc = "the labels, then drawn classes", .no_grad = true}},
    .attrs = {{"num_total_classes", 0, "number of classes"},
              {"num_neg_samples", 10, "classes drawn for each sample"},
              {"sampler", 0, "0: uniform, 1: log-uniform, 2: CustomDistProbs"},
              {"seed", 0, "not 0: the same classes are drawn in each run"},
              {"is_sparse", false,
               "whether gradients of Weight and Bias hold only rows that were used"},
              {"remote_prefetch", false, "of no effect"},
              {"trainer_id", 0, "of no effect"},
              {"height_sections", std::vector<int64_t>{}, "of no effect"},
              {"epmap", std::vector<std::string>{}, "of no effect"},
              {"table_names", std::vector<std::string>{}, "of no effect"},
              {"custom_neg_classes", std::vector<int32_t>{}, "classes to take instead of drawing"},
              {"is_test", false, "of no effect"}},
    .infer = infer,
    .grad = grad_op(
        {"Input", shape_of("Label"), "Weight", shape_of("Bias"), "SampleWeight", "CustomDistProbs",
         "CustomDistAlias", "CustomDistAliasProbs", "SampleLogits", "SampleLabels"},
        {.kernels = kernels_for<float, double>(backward), .infer = infer_grad}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
