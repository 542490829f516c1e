#include "flotilla/layers/losses.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "flotilla/layers/arithmetic.h"
#include "flotilla/layers/creation.h"
#include "flotilla/layers/indexing.h"
#include "flotilla/layers/linalg.h"

namespace flotilla::layers {
namespace {

Variable equal(Variable x, double value) { return binary("equal", x, value); }

Variable with_axis(Variable x, int64_t axis) {
  return op("unsqueeze2", {{"X", x}}, {{"axes", std::vector<int64_t>{axis}}},
            {.outputs = {"Out", "XShape"}});
}
Variable without_axis(Variable x, int64_t axis) {
  return op("squeeze2", {{"X", x}}, {{"axes", std::vector<int64_t>{axis}}},
            {.layer = "squeeze", .outputs = {"Out", "XShape"}});
}

Variable one_hot(Variable x, int64_t classes) {
  return op("one_hot_v2", {{"X", x}},
            {{"depth", classes}, {"dtype", to_paddle(f32)}, {"allow_out_of_range", false}},
            {.stop_gradient = true});
}

Variable times(Variable loss, const std::optional<Variable>& weight) {
  return weight ? multiply(loss, *weight) : loss;
}

Variable huber(Variable x, Variable y, float delta) {
  return op_outputs("huber_loss", {{"X", x}, {"Y", y}}, {{"delta", delta}},
                    {.outputs = {"Residual", "Out"}})[1];
}

Variable smoothed(Variable x, Variable label, const CrossEntropyLossOptions& options) {
  if (!options.soft_label) {
    label = one_hot(without_axis(label, options.axis), x.shape()[x.shape().axis(options.axis)]);
  }
  const Variable smooth = op("label_smooth", {{"X", label}}, {{"epsilon", options.label_smoothing}},
                             {.stop_gradient = true});
  return cast(smooth, x.dtype());
}

// The weight of each row, in the shape of the loss; that of an ignored one is 0.
Variable weights_of_rows(Variable weight, Variable label, bool soft_label,
                         const CrossEntropyLossOptions& options) {
  const int64_t axis = options.axis;
  if (soft_label) {
    const int64_t after = axis < 0 ? -1 - axis : label.shape().rank() - 1 - axis;
    std::vector<int64_t> by_class(static_cast<size_t>(after) + 1, 1);
    by_class.front() = -1;
    const Variable classes = reshape(weight, by_class);
    return sum_over(multiply(cast(label, weight.dtype()), classes), {axis}, true);
  }
  const Variable counts = binary("not_equal", label, options.ignore_index);
  const Variable places = multiply(cast(counts, label.dtype()), label);
  const Variable rows = op("lookup_table_v2", {{"Ids", places}, {"W", reshape(weight, {-1, 1})}},
                           {{"is_sparse", false}, {"is_distributed", false}, {"padding_idx", -1}},
                           {.layer = "embedding"});
  const Variable found = without_axis(rows, -1);
  return multiply(found, cast(counts, weight.dtype()));
}

// total / count, and 0 / 1 where nothing counts.
Variable ratio(Variable total, Variable count) {
  return total / (count + cast(equal(count, 0.0), count.dtype()));
}

}  // namespace

Variable reduced(Variable loss, const std::string& reduction) {
  if (reduction == "mean") return mean_over(loss);
  if (reduction == "sum") return sum_over(loss);
  require(reduction == "none", "reduction must be \"mean\", \"sum\" or \"none\", but is '{}'",
          reduction);
  return loss;
}

Variable cross_entropy_loss(Variable x, Variable label, const CrossEntropyLossOptions& options) {
  const bool missing = label.shape().rank() + 1 == x.shape().rank();
  if (missing) label = with_axis(label, options.axis);
  const bool smooth = options.label_smoothing > 0, soft_label = options.soft_label || smooth;
  if (smooth) label = smoothed(x, label, options);
  Variable loss = softmax_with_cross_entropy(x, label,
                                             {.soft_label = soft_label,
                                              .ignore_index = options.ignore_index,
                                              .axis = options.axis,
                                              .use_softmax = options.use_softmax})
                      .loss;
  std::optional<Variable> rows;
  if (options.weight) rows = weights_of_rows(*options.weight, label, soft_label, options);
  loss = times(loss, rows);
  if (options.reduction == "mean") {
    if (!rows && options.ignore_index >= 0 && !soft_label) {
      rows = cast(binary("not_equal", label, options.ignore_index), loss.dtype());
    }
    if (!rows) return mean_over(loss);
    const Variable total = sum_over(loss);
    return ratio(total, sum_over(*rows));
  }
  if (options.reduction == "none" && missing) return without_axis(loss, options.axis);
  return reduced(loss, options.reduction);
}

Variable binary_cross_entropy(Variable x, Variable label, std::optional<Variable> weight,
                              const std::string& reduction) {
  const Variable loss =
      op("bce_loss", {{"X", x}, {"Label", label}}, {}, {.layer = "binary_cross_entropy"});
  return reduced(times(loss, weight), reduction);
}

Variable binary_cross_entropy_with_logits(Variable logit, Variable label,
                                          std::optional<Variable> weight,
                                          const std::string& reduction,
                                          std::optional<Variable> positive) {
  Inputs inputs = {{"X", logit}, {"Label", label}};
  if (positive) inputs["pos_weight"] = multiply(label, *positive - 1.0) + 1.0;
  const Variable loss = op("sigmoid_cross_entropy_with_logits", inputs);
  return reduced(times(loss, weight), reduction);
}

Variable sigmoid_focal_loss(Variable logit, Variable label, std::optional<Variable> normalizer,
                            double alpha, double gamma, const std::string& reduction) {
  const Variable loss = binary_cross_entropy_with_logits(logit, label, {}, "none");
  const Variable p = sigmoid(logit);
  const Variable of_ones = multiply(p, label);
  const Variable no = 1.0 - p;
  const Variable right = of_ones + multiply(no, 1.0 - label);
  const Variable share = label * alpha;
  const Variable balance = share + (1.0 - label) * (1 - alpha);
  const Variable wrong = binary("elementwise_pow", 1.0 - right, gamma);
  const Variable made = multiply(loss, multiply(balance, wrong));
  return reduced(normalizer ? made / *normalizer : made, reduction);
}

Variable multi_label_soft_margin_loss(Variable x, Variable label, std::optional<Variable> weight,
                                      const std::string& reduction) {
  const auto log_sigmoid = [](Variable of) {
    return op("logsigmoid", {{"X", of}}, {}, {.layer = "log_sigmoid"});
  };
  const Variable yes = log_sigmoid(x);
  const Variable no = log_sigmoid(-x);
  const Variable of_yes = multiply(label, yes);
  const Variable of_no = multiply(1.0 - label, no);
  return reduced(mean_over(times(-(of_yes + of_no), weight), {-1}), reduction);
}

Variable soft_margin_loss(Variable x, Variable label, const std::string& reduction) {
  const Variable against = multiply(-cast(label, x.dtype()), x);
  return reduced(log(exp(against) + 1.0), reduction);
}

Variable dice_loss(Variable x, Variable label, double epsilon) {
  const Variable classes = one_hot(without_axis(label, -1), x.shape()[x.shape().rank() - 1]);
  std::vector<int64_t> axes;
  for (int64_t axis = 1; axis < x.shape().rank(); ++axis) axes.push_back(axis);
  const Variable shared = sum_over(multiply(x, classes), axes);
  const Variable of_x = sum_over(x, axes);
  const Variable whole = of_x + sum_over(classes, axes);
  const Variable twice = shared * 2.0;
  return mean_over(1.0 - twice / (whole + epsilon));
}

Variable mse_loss(Variable x, Variable label, const std::string& reduction) {
  return reduced(square(subtract(x, label)), reduction);
}

Variable l1_loss(Variable x, Variable label, const std::string& reduction) {
  return reduced(abs(subtract(x, label)), reduction);
}

Variable smooth_l1_loss(Variable x, Variable label, const std::string& reduction, float delta) {
  return reduced(huber(x, label, delta), reduction);
}

Variable smooth_l1(Variable x, Variable y, std::optional<Variable> inside,
                   std::optional<Variable> outside, double sigma) {
  x = times(x, inside);
  const double curve = sigma * sigma;
  const Variable loss = huber(x, times(y, inside), static_cast<float>(1 / curve));
  const Variable weighted = times(scaled(loss, curve), outside);
  return reduce("reduce_sum", reshape(weighted, {0, -1}),
                {.axes = {1}, .keep_dim = true, .v1 = context().writes_v1});
}

Variable kl_div(Variable x, Variable label, const std::string& reduction) {
  const Variable loss =
      op("kldiv_loss", {{"X", x}, {"Target", label}}, {{"reduction", "none"}}, {.layer = "kl_div"});
  if (reduction != "batchmean") return reduced(loss, reduction);
  const Variable total = sum_over(loss);
  const Variable extents = op("shape", {{"Input", x}}, {}, {.stop_gradient = true});
  return total / cast(index(extents, {at(0)}), loss.dtype());
}

Variable poisson_nll_loss(Variable x, Variable label, bool log_input, bool full, double epsilon,
                          const std::string& reduction) {
  const Variable first = log_input ? exp(x) : x;
  Variable loss = first - multiply(label, log_input ? x : log(x + epsilon));
  if (full) {
    const Variable safe = binary("elementwise_max", label, 1.0);
    const Variable main = multiply(safe, log(safe)) - safe;
    const Variable rest = main + log(safe * (2 * std::numbers::pi)) * 0.5;
    const Variable large = label > 1.0;
    loss = loss + where(large, rest, full_like(label, 0));
  }
  return reduced(loss, reduction);
}

Variable gaussian_nll_loss(Variable x, Variable label, Variable variance, bool full, double epsilon,
                           const std::string& reduction) {
  if (variance.shape() != x.shape() && variance.shape().rank() + 1 == x.shape().rank()) {
    variance = with_axis(variance, -1);
  }
  variance = op("clip", {{"X", variance}},
                {{"min", static_cast<float>(epsilon)}, {"max", std::numeric_limits<float>::max()}});
  const Variable scale = log(variance);
  const Variable loss = (scale + square(x - label) / variance) * 0.5;
  return reduced(full ? loss + 0.5 * std::log(2 * std::numbers::pi) : loss, reduction);
}

Variable pairwise_distance(Variable x, Variable y, float p, double epsilon, bool keep_dim) {
  return op("p_norm", {{"X", subtract(x, y) + epsilon}},
            {{"porder", p},
             {"keepdim", keep_dim},
             {"asvector", false},
             {"epsilon", 1e-12f},
             {"axis", -1}});
}

Variable margin_ranking_loss(Variable x, Variable other, Variable label, double margin,
                             const std::string& reduction) {
  const Variable apart = multiply(subtract(other, x), label);
  return reduced(relu(margin != 0 ? apart + margin : apart), reduction);
}

Variable hinge_embedding_loss(Variable x, Variable label, double margin,
                              const std::string& reduction) {
  const Variable ones = equal(label, 1.0);
  const Variable near = where(ones, x, full_like(x, 0));
  const Variable others = equal(label, -1.0);
  const Variable apart = relu(margin - x);
  return reduced(add(near, where(others, apart, full_like(x, 0))), reduction);
}

Variable cosine_embedding_loss(Variable x, Variable y, Variable label, double margin,
                               const std::string& reduction) {
  constexpr double kTiny = 1e-12;
  const Variable product = sum_over(multiply(x, y), {-1});
  const Variable of_x = sum_over(square(x), {-1}) + kTiny;
  const Variable lengths = multiply(of_x, sum_over(square(y), {-1}) + kTiny);
  const Variable cosine = product / sqrt(lengths);
  const Variable zeros = full_like(cosine, 0);
  const Variable ones = binary("equal", label, 1);
  const Variable near = where(ones, 1.0 - cosine, zeros);
  const Variable others = binary("equal", label, -1);
  return reduced(add(near, where(others, relu(cosine - margin), zeros)), reduction);
}

Variable triplet_margin_loss(Variable x, Variable positive, Variable negative, double margin,
                             float p, double epsilon, bool swap, const std::string& reduction) {
  const Variable near = pairwise_distance(x, positive, p, epsilon);
  Variable far = pairwise_distance(x, negative, p, epsilon);
  if (swap) {
    far = elementwise("elementwise_min", far, pairwise_distance(positive, negative, p, epsilon));
  }
  return reduced(relu(near - far + margin), reduction);
}

Variable npair_loss(Variable anchor, Variable positive, Variable labels, double l2_reg) {
  const int64_t rows = labels.shape()[0];
  const Variable column = reshape(labels, {rows, 1});
  const Variable equal =
      op("equal", {{"X", column}, {"Y", reshape(labels, {1, rows})}}, {}, {.stop_gradient = true});
  const Variable same = cast(equal, f32);
  const Variable target = same / sum_over(same, {1}, true);
  const Variable of_anchor = mean_over(sum_over(square(anchor), {1}));
  const Variable decay = of_anchor + mean_over(sum_over(square(positive), {1}));
  const Variable similar = matrix_product(anchor, positive, false, true);
  const Variable loss = softmax_with_cross_entropy(similar, target, {.soft_label = true}).loss;
  const Variable entropy = mean_over(sum_over(multiply(target, loss), {0}));
  return entropy + decay * (0.25 * l2_reg);
}

}  // namespace flotilla::layers
