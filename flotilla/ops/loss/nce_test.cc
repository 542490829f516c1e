#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

constexpr int64_t kClasses = 6;

Inputs samples() {
  return {{"Input", uniform({3, 4}, -1, 1)},
          {"Label", ints({1, 4, 0}, Shape{3, 1})},
          {"Weight", uniform({kClasses, 4}, -1, 1, 2)},
          {"Bias", uniform({kClasses, 1}, -1, 1, 3)}};
}

Attrs drawing(int64_t sampler, int64_t drawn = 3) {
  return {{"num_total_classes", kClasses}, {"num_neg_samples", drawn}, {"sampler", sampler}};
}

Inputs with_distribution(Inputs inputs) {
  inputs.emplace("CustomDistProbs", tensor({1.0 / 2, 1.0 / 3, 1.0 / 6, 0, 0, 0}));
  inputs.emplace("CustomDistAlias", ints({-1, -1, -1, 0, 0, 1}, i32));
  inputs.emplace("CustomDistAliasProbs", tensor({1, 1, 1, 0, 0, 0}));
  return inputs;
}

// Counts what is drawn for many samples.
std::vector<double> drawn_classes(int64_t sampler, int64_t seed = 0) {
  const int64_t rows = 500, drawn = 20;
  Inputs inputs = with_distribution(samples());
  inputs["Input"] = full({rows, 4}, 0);
  inputs["Label"] = uniform_ints({rows, 1}, 0, kClasses);
  Attrs attrs = drawing(sampler, drawn);
  attrs.emplace("seed", seed);
  const std::vector<double> labels = values_of(run_op("nce", inputs, attrs).at("SampleLabels"));
  std::vector<double> shares(kClasses);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (i % (drawn + 1) > 0) shares[static_cast<size_t>(labels[i])] += 1.0 / (rows * drawn);
  }
  return shares;
}

TEST(Nce, AllKernelsAgree) {
  for (const int64_t sampler : {0, 1}) {
    Attrs attrs = drawing(sampler);
    attrs.emplace("custom_neg_classes", std::vector<int64_t>{2, 1, 2});
    check_op({.type = "nce", .inputs = samples(), .attrs = attrs});
  }
  Inputs inputs = samples();
  inputs.erase("Bias");
  inputs["Label"] = ints({1, 2, 4, 5, 0, 0}, Shape{3, 2});
  check_op({.type = "nce", .inputs = inputs, .attrs = drawing(1)});
}

TEST(Nce, CostOfOneSample) {
  // o = sigmoid(0) = 1/2 everywhere, q = 2 * 1/4.
  const Attrs attrs = {{"num_total_classes", 4}, {"num_neg_samples", 2}};
  const Inputs inputs = {{"Input", full({1, 2}, 1)},
                         {"Label", ints({3}, Shape{1, 1})},
                         {"Weight", full({4, 2}, 0)},
                         {"SampleWeight", tensor({10})}};
  const OpResult found = run_op("nce", inputs, attrs);
  EXPECT_THAT(found.at("Cost"), near({30 * std::log(2)}, 1e-5));
  EXPECT_THAT(found.at("SampleLogits"), all_equal_to(0.5));
}

TEST(Nce, DrawsByTheDistribution) {
  std::vector<double> even(kClasses, 1.0 / kClasses), low;
  for (double k = 0; k < kClasses - 1; ++k)
    low.push_back(std::log((k + 2) / (k + 1)) / std::log(6));
  low.push_back(0);  // the last class is never drawn
  const std::vector<double> expected[] = {even, low, {1.0 / 2, 1.0 / 3, 1.0 / 6, 0, 0, 0}};
  for (const int64_t sampler : {0, 1, 2}) {
    const std::vector<double> shares = drawn_classes(sampler);
    for (size_t k = 0; k < shares.size(); ++k) {
      EXPECT_NEAR(shares[k], expected[sampler][k], 0.03) << "sampler " << sampler << " class " << k;
    }
  }
  EXPECT_EQ(drawn_classes(0, 5), drawn_classes(0, 5));
  EXPECT_NE(drawn_classes(0, 5), drawn_classes(0, 6));
}

TEST(Nce, SparseRowsAddUpToTheDenseGradient) {
  Attrs attrs = drawing(0);
  attrs.emplace("seed", 3);
  OpCase c{.type = "nce", .inputs = samples(), .attrs = attrs};
  c.attrs.emplace("is_sparse", true);
  c.grad_inputs = {"Input"};
  check_op(c);
  Inputs inputs = samples();
  inputs.emplace("SampleLogits", uniform({3, 4}, 0.1, 0.9));
  inputs.emplace("SampleLabels", ints({1, 2, 2, 5, 4, 2, 0, 0, 0, 1, 2, 3}, Shape{3, 4}));
  inputs.emplace("Cost@GRAD", tensor({1, 2, 3}, Shape{3, 1}));
  const OpOptions both = {.outputs = {{"Weight@GRAD", 1}, {"Bias@GRAD", 1}}};
  const OpResult dense = run_op("nce_grad", inputs, drawing(0), both);
  attrs = drawing(0);
  attrs.emplace("is_sparse", true);
  const OpResult sparse = run_op("nce_grad", inputs, attrs, both);
  for (const char* slot : {"Weight@GRAD", "Bias@GRAD"}) {
    EXPECT_THAT(sparse.at(slot), near(dense.at(slot), 1e-6)) << slot;
  }
}

TEST(Nce, Refusals) {
  Inputs inputs = samples();
  EXPECT_REFUSED(build_op("nce", inputs, drawing(3)),
                 "sampler must be 0 (uniform), 1 (log-uniform) or 2 (custom), but is 3");
  EXPECT_REFUSED(build_op("nce", inputs, drawing(2)),
                 "sampler 2 needs CustomDistProbs, CustomDistAlias and CustomDistAliasProbs");
  inputs["Weight"] = full({5, 4}, 0);
  EXPECT_REFUSED(build_op("nce", inputs, drawing(0)),
                 "Weight must have shape [6, 4], but has [5, 4]");
  inputs = samples();
  inputs["Label"] = ints({1, 4, 6}, Shape{3, 1});
  EXPECT_REFUSED(run_op("nce", inputs, drawing(0)),
                 "label 2 is 6, but there are the classes 0 to 5");
}

}  // namespace
}  // namespace flotilla
