#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(SigmoidCrossEntropy, KnownValues) {
  const Inputs inputs = {{"X", tensor({0, 2, -2})}, {"Label", tensor({1, 1, 1})}};
  const std::string type = "sigmoid_cross_entropy_with_logits";
  EXPECT_THAT(run_op(type, inputs).at("Out"), near({0.693147, 0.126928, 2.126928}, 1e-5));
  EXPECT_THAT(run_op(type, {{"X", tensor({200, -200})}, {"Label", tensor({0, 1})}}).at("Out"),
              near({200, 200}, 1e-4));
  EXPECT_THAT(run_op(type, {{"X", tensor({0, 2, 5})}, {"Label", tensor({1, 1, -1})}},
                     {{"ignore_index", -1}, {"normalize", true}})
                  .at("Out"),
              near({0.693147 / 2, 0.126928 / 2, 0}, 1e-5));
}

TEST(SigmoidCrossEntropy, AllKernelsAgree) {
  const std::string type = "sigmoid_cross_entropy_with_logits";
  const Tensor x = uniform({4, 5}, -4, 4), label = uniform({4, 5}, 0, 1, 2);
  check_op({.type = type, .inputs = {{"X", x}, {"Label", label}}});
  check_op({.type = type,
            .inputs = {{"X", x}, {"Label", label}, {"pos_weight", uniform({4, 5}, 0.5, 2, 3)}}});
  check_op({.type = type,
            .inputs = {{"X", uniform({4}, -4, 4)}, {"Label", tensor({1, -1, 0, 0.5})}},
            .attrs = {{"ignore_index", -1}, {"normalize", true}}});
}

}  // namespace
}  // namespace flotilla
