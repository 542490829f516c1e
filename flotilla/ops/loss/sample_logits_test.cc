#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

Attrs sampling(int64_t seed) { return {{"num_samples", 4}, {"seed", seed}}; }

TEST(SampleLogits, TakesLabelsAndDrawnClasses) {
  const Tensor logits = uniform({3, 9}, -1, 1);
  const Inputs inputs = {{"Logits", logits}, {"Labels", ints({1, 4, 0}, Shape{3, 1})}};
  Attrs kept = sampling(5);
  kept.emplace("remove_accidental_hits", false);  // 1e20 drowns all differences
  check_op({.type = "sample_logits",
            .inputs = inputs,
            .attrs = kept,
            .grad_outputs = {"SampledLogits"}});
  const OpResult found = run_op("sample_logits", inputs, sampling(5));
  const std::vector<double> samples = values_of(found.at("Samples")),
                            likely = values_of(found.at("Probabilities")),
                            sampled = values_of(found.at("SampledLogits")), all = values_of(logits);
  for (size_t i = 0; i < samples.size(); ++i) {
    const size_t row = i / 5;
    EXPECT_EQ(samples[i], i % 5 == 0 ? (std::vector<double>{1, 4, 0})[row] : samples[i % 5]);
    EXPECT_GT(likely[i], 0);
    const double plain = all[row * 9 + static_cast<size_t>(samples[i])] - std::log(likely[i]);
    const bool hit = i % 5 > 0 && samples[i] == samples[row * 5];
    EXPECT_NEAR(sampled[i], hit ? -1e20 : plain, hit ? 1e14 : 1e-5);
  }
  EXPECT_THAT(found.at("SampledLabels"), all_equal_to(0));
  const Tensor again = run_op("sample_logits", inputs, sampling(5)).at("Samples");
  EXPECT_THAT(again, equal_to(found.at("Samples")));
}

TEST(SampleLogits, Refusals) {
  const Inputs inputs = {{"Logits", uniform({3, 3}, -1, 1)},
                         {"Labels", ints({1, 2, 0}, Shape{3, 1})}};
  EXPECT_REFUSED(build_op("sample_logits", inputs, sampling(0)),
                 "num_samples must lie in [1, 3], the number of classes, but is 4");
  EXPECT_REFUSED(
      build_op("sample_logits", inputs, {{"num_samples", 2}, {"use_customized_samples", true}}),
      "use_customized_samples needs CustomizedSamples");
}

}  // namespace
}  // namespace flotilla
