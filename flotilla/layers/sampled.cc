#include "flotilla/layers/sampled.h"

#include <algorithm>
#include <array>

#include "flotilla/layers/functions.h"

namespace flotilla::layers {
namespace {

// As the op numbers them.
constexpr std::array<std::string_view, 3> kSamplers = {"uniform", "log_uniform", "custom_dist"};

int32_t sampler_of(std::string_view name) {
  const auto found = std::find(kSamplers.begin(), kSamplers.end(), name);
  require(found != kSamplers.end(), "sampler must be one of {}, but is '{}'",
          fmt::join(kSamplers, ", "), name);
  return static_cast<int32_t>(found - kSamplers.begin());
}

// A row of weights, and a number where there is a bias, for each of `rows` classes or nodes.
struct Rows {
  Variable weight;
  Variables bias = {};
};
Rows rows_of(LayerHelper& helper, Variable x, int64_t rows, const ParamAttr& weight,
             const std::optional<ParamAttr>& bias) {
  require(x.shape().rank() > 1, "[samples, width] are expected, but \"{}\" is {}", x.name(),
          x.shape());
  Rows made = {.weight = helper.parameter(weight, {rows, x.shape()[1]}, x.dtype(), xavier(), "w")};
  if (bias) made.bias = helper.parameter(*bias, {rows, 1}, x.dtype(), constant(0), "b");
  return made;
}

// What classes are drawn by: parameters that are not learnt.
void add_tables(LayerHelper& helper, Inputs& inputs, const std::vector<double>& probabilities,
                int64_t classes) {
  require(static_cast<int64_t>(probabilities.size()) == classes,
          "sampler='custom_dist' needs custom_dist, {} probabilities", classes);
  AliasTable table = alias_table(probabilities);
  const auto add = [&](const char* slot, DType dtype, std::vector<double> numbers) {
    const ParamAttr attr = {.initializer = values(std::move(numbers))};
    Variable made = helper.parameter(attr, {classes}, dtype, *attr.initializer, "w");
    made->stop_gradient = true;
    inputs[slot] = made;
  };
  add("CustomDistProbs", f32, probabilities);
  add("CustomDistAlias", i32, std::move(table.aliases));
  add("CustomDistAliasProbs", f32, std::move(table.levels));
}

}  // namespace

Variable nce(Variable x, Variable label, int64_t classes, const NceOptions& options) {
  const int32_t sampler = sampler_of(options.sampler);
  LayerHelper helper("nce", options.name);
  const Rows rows = rows_of(helper, x, classes, options.weight, options.bias);
  Inputs inputs = {{"Input", x},
                   {"Label", label},
                   {"SampleWeight", options.sample_weight},
                   {"Weight", rows.weight},
                   {"Bias", rows.bias}};
  if (options.sampler == "custom_dist") add_tables(helper, inputs, options.custom_dist, classes);
  const Variable cost =
      op("nce", inputs,
         {{"num_total_classes", classes},
          {"num_neg_samples", options.num_neg_samples},
          {"seed", options.seed},
          {"sampler", sampler},
          {"is_sparse", options.is_sparse},
          {"remote_prefetch", options.is_sparse}},
         {.layer = helper.name(), .outputs = {"Cost", "SampleLogits", "SampleLabels"}});
  return cost / (options.num_neg_samples + 1);
}

Variable hsigmoid(Variable x, Variable label, int64_t classes, const HsigmoidOptions& options) {
  const bool custom = !options.path_table.empty();
  require(custom == !options.path_code.empty(),
          "a tree is given by both path_table and path_code, or by none of them");
  LayerHelper helper("hierarchical_sigmoid", options.name);
  const Rows rows =
      rows_of(helper, x, custom ? classes : classes - 1, options.weight, options.bias);
  const bool sparse = options.is_sparse && custom;
  return op("hierarchical_sigmoid",
            {{"X", x},
             {"W", rows.weight},
             {"Label", label},
             {"Bias", rows.bias},
             {"PathTable", options.path_table},
             {"PathCode", options.path_code}},
            {{"num_classes", classes}, {"is_sparse", sparse}, {"remote_prefetch", sparse}},
            {.outputs = {"Out", "PreOut"}});
}

Variable sampled_softmax_with_cross_entropy(Variable logits, Variable label, int64_t samples,
                                            const SampledSoftmaxOptions& options) {
  Inputs inputs = {{"Logits", logits}, {"Labels", label}};
  if (options.use_customized_samples) {
    inputs["CustomizedSamples"] = options.customized_samples;
    inputs["CustomizedProbabilities"] = options.customized_probabilities;
  }
  const Variables sampled = op_outputs("sample_logits", inputs,
                                       {{"use_customized_samples", options.use_customized_samples},
                                        {"uniq", true},
                                        {"remove_accidental_hits", options.remove_accidental_hits},
                                        {"num_samples", samples},
                                        {"seed", options.seed}},
                                       {.outputs = {"SampledLogits", "SampledLabels", "Samples",
                                                    "Probabilities", "LogitsDim", "LabelsDim"}});
  const Variable soft = op("one_hot", {{"X", sampled[1]}}, {{"depth", samples + 1}});
  const LossAndSoftmax made = softmax_with_cross_entropy(
      sampled[0], soft, {.soft_label = true, .ignore_index = 0, .numeric_stable_mode = false});
  return made.loss / options.num_true;
}

AliasTable alias_table(const std::vector<double>& probabilities) {
  const size_t count = probabilities.size();
  AliasTable table = {std::vector<double>(count, -1), std::vector<double>(count, 1)};
  std::vector<double> left;  // of a class, of an even share
  std::vector<size_t> low, high;
  for (size_t i = 0; i < count; ++i) {
    left.push_back(probabilities[i] * static_cast<double>(count));
    if (left[i] < 1) low.push_back(i);
    if (left[i] > 1) high.push_back(i);
  }
  while (!low.empty() && !high.empty()) {
    const size_t small = low.back(), large = high.back();
    low.pop_back();
    table.aliases[small] = static_cast<double>(large);
    table.levels[small] = left[small];
    left[large] -= 1 - left[small];
    if (left[large] > 1) continue;
    high.pop_back();
    if (left[large] < 1) low.push_back(large);
  }
  return table;
}

}  // namespace flotilla::layers
