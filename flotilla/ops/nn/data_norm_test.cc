// flotilla/ops/nn/data_norm_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

Inputs inputs_of(const Tensor& x) {
  const int64_t n = x.shape()[1];
  return {{"X", x},
          {"BatchSize", full({n}, 10, x.dtype())},
          {"BatchSum", uniform({n}, -3, 3, 2, x.dtype())},
          {"BatchSquareSum", uniform({n}, 5, 9, 3, x.dtype())}};
}

Inputs shifted(Inputs inputs) {
  inputs.emplace("scale_w", uniform({4}, 0.5, 2, 4));
  inputs.emplace("bias", uniform({4}, -1, 1, 5));
  return inputs;
}

TEST(DataNorm, AllKernelsAgree) {
  const Tensor x = uniform({3, 4}, -2, 2);
  check_op({.type = "data_norm", .inputs = inputs_of(x), .grad_inputs = {"X"}});
  check_op({.type = "data_norm",
            .inputs = shifted(inputs_of(x)),
            .attrs = {{"enable_scale_and_shift", true}, {"slot_dim", 2}},
            .grad_inputs = {"X", "scale_w", "bias"}});
}

TEST(DataNorm, SummariesOfABatch) {
  const Tensor x = tensor({{1, 2}, {4, 5}, {0, 1}});
  const Attrs attrs = {{"epsilon", 1e-3f}};
  const Inputs inputs = {{"X", x},
                         {"BatchSize", tensor({10, 20})},
                         {"BatchSum", tensor({1, 2})},
                         {"BatchSquareSum", tensor({5, 6})},
                         {"Means", tensor({0.1, 0.1})},
                         {"Scales", tensor({1, 1})},
                         {"Y@GRAD", full({3, 2}, 1)}};
  const OpOptions all = {
      .outputs = {{"BatchSize@GRAD", 1}, {"BatchSum@GRAD", 1}, {"BatchSquareSum@GRAD", 1}}};
  const OpResult whole = run_op("data_norm_grad", inputs, attrs, all);
  EXPECT_THAT(whole.at("BatchSize@GRAD"), equal_to({3, 3}));
  EXPECT_THAT(whole.at("BatchSum@GRAD"), equal_to({5, 8}));
  EXPECT_THAT(whole.at("BatchSquareSum@GRAD"), near({16.033, 28.433}, 1e-4));
  // The last row was never shown.
  const OpResult slots =
      run_op("data_norm_grad", inputs, {{"epsilon", 1e-3f}, {"slot_dim", 2}}, all);
  EXPECT_THAT(slots.at("BatchSize@GRAD"), equal_to({1, 1}));
  EXPECT_THAT(slots.at("BatchSum@GRAD"), equal_to({2.5, 3.5}));
  EXPECT_THAT(slots.at("BatchSquareSum@GRAD"), near({8.012, 13.812}, 1e-4));
}

TEST(DataNorm, Refusals) {
  const Tensor x = uniform({3, 4}, -2, 2);
  EXPECT_REFUSED(build_op("data_norm", inputs_of(x), {{"slot_dim", 3}}),
                 "the 4 columns of X cannot be cut into slots of slot_dim 3");
  EXPECT_REFUSED(build_op("data_norm", inputs_of(x), {{"epsilon", 0.1f}}),
                 "epsilon must lie in [0, 0.001], but is 0.1");
  EXPECT_REFUSED(build_op("data_norm", inputs_of(x), {{"enable_scale_and_shift", true}}),
                 "enable_scale_and_shift needs scale_w and bias");
  Inputs narrow = inputs_of(x);
  narrow["BatchSum"] = full({3}, 1);
  EXPECT_REFUSED(build_op("data_norm", narrow),
                 "BatchSum must hold a number for each of the 4 columns of X, but has shape [3]");
}

}  // namespace
}  // namespace flotilla
