// flotilla/ops/sequence/recurrent_test.cc

#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

const LoD kLod = {{0, 1, 1, 4, 6}};  // the second sequence is empty

Inputs lstm_inputs(bool peepholes, bool started) {
  Inputs inputs = {{"Input", with_lod(uniform({6, 8}, -1, 1), kLod)},
                   {"Weight", uniform({2, 8}, -1, 1, 2)},
                   {"Bias", uniform({1, peepholes ? 14 : 8}, -1, 1, 3)}};
  if (started) {
    inputs.emplace("H0", uniform({4, 2}, -1, 1, 4));
    inputs.emplace("C0", uniform({4, 2}, -1, 1, 5));
  }
  return inputs;
}

TEST(Lstm, AllKernelsAgree) {
  for (const bool peepholes : {false, true}) {
    for (const bool reverse : {false, true}) {
      check_op({.type = "lstm",
                .inputs = lstm_inputs(peepholes, reverse),
                .attrs = {{"use_peepholes", peepholes}, {"is_reverse", reverse}},
                .grad_outputs = {"Hidden", "Cell"}});
    }
  }
  check_op({.type = "lstm",
            .inputs = lstm_inputs(true, true),
            .attrs = {{"gate_activation", "tanh"}, {"cell_activation", "identity"}},
            .grad_outputs = {"Hidden"}});
}

// One unit, weights of nothing: c = tanh(k) sigmoid(i) + c' sigmoid(f).
TEST(Lstm, OneStep) {
  const Inputs inputs = {{"Input", with_lod(tensor({{1, 2, 3, 4}}), {{0, 1}})},
                         {"Weight", full({1, 4}, 0)},
                         {"Bias", full({1, 4}, 0)},
                         {"H0", tensor({7}, Shape{1, 1})},
                         {"C0", tensor({0.5}, Shape{1, 1})}};
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const double cell = std::tanh(1) * sigmoid(2) + 0.5 * sigmoid(3);
  const OpResult found = run_op("lstm", inputs, {{"use_peepholes", false}});
  EXPECT_THAT(found.at("Cell"), near({cell}, 1e-6));
  EXPECT_THAT(found.at("Hidden"), near({sigmoid(4) * std::tanh(cell)}, 1e-6));
  EXPECT_EQ(found.at("Hidden").lod(), (LoD{{0, 1}}));
}

TEST(Lstm, Refusals) {
  Inputs inputs = lstm_inputs(true, true);
  EXPECT_REFUSED(run_op("lstm", inputs, {{"use_peepholes", false}}),
                 "Bias must hold 8 numbers, but has shape [1, 14]");
  EXPECT_REFUSED(run_op("lstm", inputs, {{"gate_activation", "softmax"}}),
                 "an activation must be one of identity, sigmoid, tanh, relu, but is \"softmax\"");
  inputs["H0"] = full({3, 2}, 0);
  EXPECT_REFUSED(run_op("lstm", inputs),
                 "H0 must have shape [4, 2], a row for each sequence, but has [3, 2]");
  inputs["Input"] = uniform({6, 8}, -1, 1);
  EXPECT_REFUSED(run_op("lstm", inputs),
                 "lstm takes sequences, but Input of shape [6, 8] has no LoD");
}

Inputs gru_inputs(bool biased, bool started) {
  Inputs inputs = {{"Input", with_lod(uniform({6, 6}, -1, 1), kLod)},
                   {"Weight", uniform({2, 6}, -1, 1, 2)}};
  if (biased) inputs.emplace("Bias", uniform({1, 6}, -1, 1, 3));
  if (started) inputs.emplace("H0", uniform({4, 2}, -1, 1, 4));
  return inputs;
}

TEST(Gru, AllKernelsAgree) {
  for (const bool origin : {false, true}) {
    for (const bool reverse : {false, true}) {
      check_op({.type = "gru",
                .inputs = gru_inputs(origin != reverse, reverse),
                .attrs = {{"origin_mode", origin}, {"is_reverse", reverse}},
                .grad_outputs = {"Hidden"}});
    }
  }
  check_op({.type = "gru",
            .inputs = gru_inputs(true, true),
            .attrs = {{"activation", "identity"}, {"gate_activation", "tanh"}},
            .grad_outputs = {"Hidden"}});
}

TEST(Gru, Refusals) {
  Inputs inputs = gru_inputs(true, false);
  inputs["Weight"] = full({2, 8}, 0);
  EXPECT_REFUSED(run_op("gru", inputs),
                 "Input and Weight must have shapes [rows, 3 * width] and [width, 3 * width], but "
                 "have [6, 6] and [2, 8]");
  inputs = gru_inputs(false, false);
  inputs["Bias"] = full({1, 4}, 0);
  EXPECT_REFUSED(run_op("gru", inputs), "Bias must hold 6 numbers, but has shape [1, 4]");
}

}  // namespace
}  // namespace flotilla
