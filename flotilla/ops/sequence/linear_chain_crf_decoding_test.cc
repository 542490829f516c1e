// flotilla/ops/sequence/crf_test.cc

#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

const LoD kLod = {{0, 1, 4, 4, 6}};  // the third chain is empty

Inputs chains() {
  return {{"Emission", with_lod(uniform({6, 3}, -1, 1), kLod)},
          {"Transition", uniform({5, 3}, -1, 1, 2)},
          {"Label", with_lod(ints({0, 2, 1, 1, 0, 2}, Shape{6, 1}), kLod)}};
}

Inputs padded() {
  return {{"Emission", uniform({2, 3, 3}, -1, 1)},
          {"Transition", uniform({5, 3}, -1, 1, 2)},
          {"Label", ints({0, 2, 1, 1, 0, 0}, Shape{2, 3})},
          {"Length", ints({3, 2}, Shape{2, 1})}};
}

TEST(LinearChainCrf, AllKernelsAgree) {
  for (const Inputs& inputs : {chains(), padded()}) {
    check_op({.type = "linear_chain_crf", .inputs = inputs, .grad_outputs = {"LogLikelihood"}});
  }
}

// Two tags, two steps: the cost is minus the logarithm of one of four probabilities.
TEST(LinearChainCrf, TwoSteps) {
  const double x[2][2] = {{0.1, 0.2}, {0.3, -0.4}};
  const double w[4][2] = {{0.5, -0.1}, {0.2, 0.3}, {-0.6, 0.7}, {0.4, 0.8}};
  const auto score = [&](int a, int b) {
    return w[0][a] + x[0][a] + w[2 + a][b] + x[1][b] + w[1][b];
  };
  double sum = 0;
  for (const int a : {0, 1}) {
    for (const int b : {0, 1}) sum += std::exp(score(a, b));
  }
  const Inputs inputs = {{"Emission", with_lod(tensor({{0.1, 0.2}, {0.3, -0.4}}), {{0, 2}})},
                         {"Transition", tensor({{0.5, -0.1}, {0.2, 0.3}, {-0.6, 0.7}, {0.4, 0.8}})},
                         {"Label", with_lod(ints({1, 0}, Shape{2, 1}), {{0, 2}})}};
  EXPECT_THAT(run_op("linear_chain_crf", inputs).at("LogLikelihood"),
              near({std::log(sum) - score(1, 0)}, 1e-5));
}

TEST(LinearChainCrf, Refusals) {
  Inputs inputs = chains();
  inputs["Transition"] = full({4, 3}, 0);
  EXPECT_REFUSED(build_op("linear_chain_crf", inputs),
                 "Transition must have shape [5, 3], but has [4, 3]");
  inputs = chains();
  inputs["Label"] = with_lod(ints({0, 2, 1, 3, 0, 2}, Shape{6, 1}), kLod);
  EXPECT_REFUSED(run_op("linear_chain_crf", inputs),
                 "label 3 is 3, but there are the classes 0 to 2");
  inputs = padded();
  inputs["Length"] = ints({4, 2}, Shape{2, 1});
  EXPECT_REFUSED(run_op("linear_chain_crf", inputs),
                 "the length of sequence 0 is 4, but rows have 3 elements");
}

TEST(CrfDecoding, FindsTheBestTags) {
  // Emissions want 0 1, but 1 behind 0 costs more than both gain.
  const Inputs inputs = {{"Emission", with_lod(tensor({{1, 0}, {0, 1}, {1, 0}}), {{0, 2, 3}})},
                         {"Transition", tensor({{0, 0}, {0, 0.5}, {0, -9}, {0, 0}})}};
  const Tensor found = run_op("crf_decoding", inputs).at("ViterbiPath");
  EXPECT_THAT(found, equal_to(ints({1, 1, 0}, Shape{3, 1})));
  Inputs labelled = inputs;
  labelled.emplace("Label", with_lod(ints({0, 1, 0}, Shape{3, 1}), {{0, 2, 3}}));
  EXPECT_THAT(run_op("crf_decoding", labelled).at("ViterbiPath"),
              equal_to(ints({0, 1, 1}, Shape{3, 1})));
  Inputs rows = padded();
  rows.erase("Label");
  EXPECT_THAT(run_op("crf_decoding", rows).at("ViterbiPath"), has_shape({2, 3}));
}

}  // namespace
}  // namespace flotilla
