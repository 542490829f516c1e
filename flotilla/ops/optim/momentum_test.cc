#include "flotilla/testing/in_place.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const Tensor kRate = tensor({0.1});

const OpOptions kMomentum = in_place({"Param", "Velocity"});

TEST(Momentum, KnownValues) {
  const Inputs inputs = {{"Param", tensor({1})},
                         {"Grad", tensor({0.5})},
                         {"Velocity", tensor({2})},
                         {"LearningRate", kRate}};
  const auto plain = run_op("momentum", inputs, {{"mu", 0.9f}}, kMomentum);
  EXPECT_THAT(plain.at("VelocityOut"), near({2.3}, 1e-6));
  EXPECT_THAT(plain.at("ParamOut"), near({0.77}, 1e-6));
  const auto nesterov =
      run_op("momentum", inputs, {{"mu", 0.9f}, {"use_nesterov", true}}, kMomentum);
  EXPECT_THAT(nesterov.at("ParamOut"), near({1 - 0.1 * (0.5 + 0.9 * 2.3)}, 1e-6));
  const Attrs decay = {{"mu", 0.9f},
                       {"regularization_method", "l2_decay"},
                       {"regularization_coeff", 0.2f},
                       {"rescale_grad", 2.0f}};
  EXPECT_THAT(run_op("momentum", inputs, decay, kMomentum).at("VelocityOut"),
              near({0.9 * 2 + 2 * 0.5 + 0.2}, 1e-6));
}

// A row that the gradient leaves out goes on with its velocity.
TEST(Momentum, SparseIsDenseInEffect) {
  const SelectedRows grad = sparse({3, 0, 3}, uniform({3, 4}, -1, 1), 6);
  for (const bool nesterov : {false, true}) {
    const Attrs attrs = {{"mu", 0.9f}, {"use_nesterov", nesterov}};
    Inputs inputs = {{"Param", uniform({6, 4}, -1, 1, 2)},
                     {"Grad", grad},
                     {"Velocity", uniform({6, 4}, -1, 1, 3)},
                     {"LearningRate", kRate}};
    const auto found = run_op("momentum", inputs, attrs, kMomentum);
    inputs["Grad"] = grad.to_dense();
    const auto dense = run_op("momentum", inputs, attrs, kMomentum);
    EXPECT_THAT(found.at("ParamOut"), near(dense.at("ParamOut"), 1e-6));
    EXPECT_THAT(found.at("VelocityOut"), near(dense.at("VelocityOut"), 1e-6));
  }
}

TEST(Momentum, RefusesAnUnknownDecay) {
  EXPECT_REFUSED(build_op("momentum",
                          {{"Param", full({2}, 0)},
                           {"Grad", full({2}, 0)},
                           {"Velocity", full({2}, 0)},
                           {"LearningRate", kRate}},
                          {{"regularization_method", "l1_decay"}}),
                 "regularization_method must be \"\" or \"l2_decay\", but is \"l1_decay\"");
}

}  // namespace
}  // namespace flotilla
