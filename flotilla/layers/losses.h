// flotilla/layers/losses.h
//
// Losses that are several ops. What is compared is reduced: "mean", "sum" or "none".

#pragma once

#include <optional>
#include <string>

#include "flotilla/layers/functions.h"

namespace flotilla::layers {

// The mean, the sum, or all of a loss.
Variable reduced(Variable loss, const std::string& reduction);

// ---- of classes

struct CrossEntropyLossOptions {
  std::optional<Variable> weight = {};  // one for each class
  int64_t ignore_index = -100;          // rows of this class give 0
  std::string reduction = "mean";
  bool soft_label = false;  // a probability for each class instead of one class
  int64_t axis = -1;
  bool use_softmax = true;  // x holds logits, not probabilities
  float label_smoothing = 0;
};
// -log of the probability of the label. The mean is that of rows that count, by their weights.
Variable cross_entropy_loss(Variable x, Variable label,
                            const CrossEntropyLossOptions& options = {});

// -label * log(x) - (1 - label) * log(1 - x).
Variable binary_cross_entropy(Variable x, Variable label, std::optional<Variable> weight = {},
                              const std::string& reduction = "mean");
// The same of the sigmoid of `logit`. `positive` multiplies what ones contribute.
Variable binary_cross_entropy_with_logits(Variable logit, Variable label,
                                          std::optional<Variable> weight = {},
                                          const std::string& reduction = "mean",
                                          std::optional<Variable> positive = {});
// The same, less where it is right: times (1 - p)^gamma.
Variable sigmoid_focal_loss(Variable logit, Variable label, std::optional<Variable> normalizer,
                            double alpha, double gamma, const std::string& reduction);
// The mean over classes of the binary cross entropy of the sigmoid of x.
Variable multi_label_soft_margin_loss(Variable x, Variable label, std::optional<Variable> weight,
                                      const std::string& reduction);
// log(1 + exp(-label * x)).
Variable soft_margin_loss(Variable x, Variable label, const std::string& reduction);
// 1 - twice what x and label share, over the sum of both. The last axis of label is a class.
Variable dice_loss(Variable x, Variable label, double epsilon);

// ---- of values and distributions

// (x - label)^2.
Variable mse_loss(Variable x, Variable label, const std::string& reduction = "mean");
// |x - label|.
Variable l1_loss(Variable x, Variable label, const std::string& reduction = "mean");
// Half the square of the difference where that is below `delta`, linear above.
Variable smooth_l1_loss(Variable x, Variable label, const std::string& reduction = "mean",
                        float delta = 1);
// The sums of the rows' smooth differences: half the square times sigma^2 near zero, linear beyond
// 1 / sigma^2. Weights multiply the differences (inside) and what they give (outside).
Variable smooth_l1(Variable x, Variable y, std::optional<Variable> inside = {},
                   std::optional<Variable> outside = {}, double sigma = 1);
// label * (log(label) - x), x being logarithms; "batchmean" divides the sum by the rows.
Variable kl_div(Variable x, Variable label, const std::string& reduction = "mean");
// exp(x) - label * x, or without `log_input` x - label * log(x + epsilon). `full` adds Stirling's
// approximation where the label is above 1.
Variable poisson_nll_loss(Variable x, Variable label, bool log_input, bool full, double epsilon,
                          const std::string& reduction);
// Half of log(variance) + (x - label)^2 / variance; `full` adds half of log(2 pi).
Variable gaussian_nll_loss(Variable x, Variable label, Variable variance, bool full, double epsilon,
                           const std::string& reduction);

// ---- of pairs and triples

// The p-norm of x - y + epsilon along the last axis.
Variable pairwise_distance(Variable x, Variable y, float p = 2, double epsilon = 1e-6,
                           bool keep_dim = false);
// max(0, -label * (x - other) + margin).
Variable margin_ranking_loss(Variable x, Variable other, Variable label, double margin,
                             const std::string& reduction);
// x where the label is 1, max(0, margin - x) where it is -1.
Variable hinge_embedding_loss(Variable x, Variable label, double margin,
                              const std::string& reduction);
// 1 - cosine where the label is 1, max(0, cosine - margin) where it is -1.
Variable cosine_embedding_loss(Variable x, Variable y, Variable label, double margin,
                               const std::string& reduction);
// max(0, distance to positive - distance to negative + margin), by p-norms. `swap`: the negative's
// distance is the smaller one of those to x and positive.
Variable triplet_margin_loss(Variable x, Variable positive, Variable negative, double margin,
                             float p, double epsilon, bool swap, const std::string& reduction);
// The cross entropy of similarities between anchors and positives, with decay of both.
Variable npair_loss(Variable anchor, Variable positive, Variable labels, double l2_reg);

}  // namespace flotilla::layers
