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

Inputs unit_inputs(bool biased) {
  Inputs inputs = {{"Input", uniform({3, 6}, -1, 1)},
                   {"HiddenPrev", uniform({3, 2}, -1, 1, 2)},
                   {"Weight", uniform({2, 6}, -1, 1, 3)}};
  if (biased) inputs.emplace("Bias", uniform({1, 6}, -1, 1, 4));
  return inputs;
}

TEST(GruUnit, AllKernelsAgree) {
  for (const bool origin : {false, true}) {
    check_op({.type = "gru_unit",
              .inputs = unit_inputs(origin),
              .attrs = {{"origin_mode", origin}},
              .grad_outputs = {"Hidden"}});
  }
  check_op({.type = "gru_unit",
            .inputs = unit_inputs(true),
            .attrs = {{"activation", 0}, {"gate_activation", 2}},
            .grad_outputs = {"Hidden"}});
}

// A step of gru over sequences of one row each.
TEST(GruUnit, IsAStepOfGru) {
  const Inputs unit = unit_inputs(true);
  Inputs sequences = {{"Input", with_lod(uniform({3, 6}, -1, 1), {{0, 1, 2, 3}})},
                      {"H0", unit.at("HiddenPrev")},
                      {"Weight", unit.at("Weight")},
                      {"Bias", unit.at("Bias")}};
  const OpResult found = run_op("gru_unit", unit), expected = run_op("gru", sequences);
  EXPECT_THAT(found.at("Hidden"), near(expected.at("Hidden"), 1e-6));
  EXPECT_THAT(found.at("Gate"), near(expected.at("BatchGate"), 1e-6));
  EXPECT_THAT(found.at("ResetHiddenPrev"), near(expected.at("BatchResetHiddenPrev"), 1e-6));
}

TEST(GruUnit, Refusals) {
  Inputs inputs = unit_inputs(true);
  EXPECT_REFUSED(build_op("gru_unit", inputs, {{"activation", 4}}),
                 "activation must be 0 (identity), 1 (sigmoid), 2 (tanh) or 3 (relu), but is 4");
  inputs["Bias"] = full({1, 4}, 0);
  EXPECT_REFUSED(build_op("gru_unit", inputs), "Bias must hold 6 numbers, but has shape [1, 4]");
  inputs["HiddenPrev"] = full({2, 2}, 0);
  EXPECT_REFUSED(build_op("gru_unit", inputs),
                 "Input, HiddenPrev and Weight must have shapes [rows, 3 * width], [rows, width] "
                 "and [width, 3 * width], but have [3, 6], [2, 2] and [2, 6]");
}

TEST(LstmUnit, KnownValues) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const double cell = sigmoid(2.5) * 0.5 + sigmoid(1) * std::tanh(4);
  const OpResult found =
      run_op("lstm_unit", {{"X", tensor({{1, 2, 3, 4}})}, {"C_prev", tensor({0.5}, Shape{1, 1})}},
             {{"forget_bias", 0.5f}});
  EXPECT_THAT(found.at("C"), near(tensor({cell}, Shape{1, 1}), 1e-6));
  EXPECT_THAT(found.at("H"), near(tensor({sigmoid(3) * std::tanh(cell)}, Shape{1, 1}), 1e-6));
}

TEST(LstmUnit, AllKernelsAgree) {
  const Inputs inputs = {{"X", uniform({3, 8}, -1, 1)}, {"C_prev", uniform({3, 2}, -1, 1, 2)}};
  using Outputs = std::vector<std::string>;
  for (const Outputs& outputs : {Outputs{"C", "H"}, Outputs{"C"}, Outputs{"H"}}) {
    check_op({.type = "lstm_unit",
              .inputs = inputs,
              .attrs = {{"forget_bias", 0.5f}},
              .grad_outputs = outputs});
  }
}

TEST(LstmUnit, Refusals) {
  EXPECT_REFUSED(build_op("lstm_unit", {{"X", full({3, 6}, 0)}, {"C_prev", full({3, 2}, 0)}}),
                 "X and C_prev must have shapes [rows, 4 * width] and [rows, width], but have "
                 "[3, 6] and [3, 2]");
}

}  // namespace
}  // namespace flotilla
