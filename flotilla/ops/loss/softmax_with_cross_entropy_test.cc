// flotilla/ops/loss/softmax_with_cross_entropy_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

const std::string kType = "softmax_with_cross_entropy";

TEST(SoftmaxWithCrossEntropy, KnownValues) {
  const Tensor logits = tensor({{1, 2, 3}, {1, 1, 1}});
  for (const DType dtype : {i64, i32}) {
    const auto found = run_op(kType, {{"Logits", logits}, {"Label", ints({0, 2}, {2, 1}, dtype)}});
    EXPECT_THAT(found.at("Loss"), near(tensor({2.407606, 1.098612}, {2, 1}), 1e-6));
    EXPECT_THAT(found.at("Softmax"), near({0.0900, 0.2447, 0.6652, 0.3333, 0.3333, 0.3333}, 1e-4));
  }
}

TEST(SoftmaxWithCrossEntropy, IgnoredRowsCostNothing) {
  const auto found = run_op(
      kType, {{"Logits", tensor({{1, 2, 3}, {1, 1, 1}})}, {"Label", ints({-100, 2}, {2, 1})}});
  EXPECT_THAT(found.at("Loss"), near(tensor({0, 1.098612}, {2, 1}), 1e-6));
}

// No logit counts as more than 64 below the largest.
TEST(SoftmaxWithCrossEntropy, LargeLogitsStayFinite) {
  const auto found =
      run_op(kType, {{"Logits", tensor({{100, -100, 100}})}, {"Label", ints({1}, {1, 1})}});
  EXPECT_THAT(found.at("Loss"), near({64 + 0.693147}, 1e-5));
}

TEST(SoftmaxWithCrossEntropy, AllKernelsAgreeOnEveryAxis) {
  const Tensor logits = uniform({3, 4, 5}, -3, 3);
  for (const int axis : {-1, 0, 1}) {
    Shape shape = {3, 4, 5};
    shape[shape.axis(axis)] = 1;
    check_op({.type = kType,
              .inputs = {{"Logits", logits}, {"Label", uniform_ints(shape, 0, 3)}},
              .attrs = {{"axis", axis}, {"ignore_index", 2}}});
    check_op({.type = kType,
              .inputs = {{"Logits", logits}, {"Label", uniform({3, 4, 5}, 0, 0.4, 2)}},
              .attrs = {{"axis", axis}, {"soft_label", true}},
              .grad = false});
  }
}

// Paddle's gradient takes soft labels to add up to one.
TEST(SoftmaxWithCrossEntropy, SoftLabelsThatAddUpToOne) {
  check_op({.type = kType,
            .inputs = {{"Logits", uniform({2, 3}, -3, 3)},
                       {"Label", tensor({{0.2, 0.3, 0.5}, {0, 1, 0}})}},
            .attrs = {{"soft_label", true}}});
}

TEST(SoftmaxWithCrossEntropy, WithoutSoftmaxTakesProbabilities) {
  const Tensor chances = tensor({{0.5, 0.25, 0.25}, {0.125, 0.75, 0.125}});
  const Attrs attrs = {{"use_softmax", false}};
  EXPECT_THAT(
      run_op(kType, {{"Logits", chances}, {"Label", ints({1, 0}, {2, 1})}}, attrs).at("Loss"),
      near(tensor({1.386294, 2.079442}, {2, 1}), 1e-6));
  check_op({.type = kType,
            .inputs = {{"Logits", chances}, {"Label", ints({1, 0}, {2, 1})}},
            .attrs = attrs});
  check_op({.type = kType,
            .inputs = {{"Logits", chances}, {"Label", tensor({{0.2, 0.3, 0.5}, {0, 1, 0}})}},
            .attrs = {{"use_softmax", false}, {"soft_label", true}}});
}

TEST(SoftmaxWithCrossEntropy, Refusals) {
  const Tensor logits = uniform({4, 5}, -1, 1);
  EXPECT_REFUSED(build_op(kType, {{"Logits", logits}, {"Label", ints({1, 2, 3, 4})}}),
                 "Label must have shape [4, 1] because Logits is [4, 5], but has shape [4]");
  EXPECT_REFUSED(build_op(kType, {{"Logits", logits}, {"Label", ints({1, 2}, {2, 1})}}),
                 "Label must have shape [4, 1] because Logits is [4, 5], but has shape [2, 1]");
  EXPECT_REFUSED(run_op(kType, {{"Logits", logits}, {"Label", ints({1, 2, 5, 0}, {4, 1})}}),
                 "label 2 is 5, but there are the classes 0 to 4");
  EXPECT_REFUSED(build_op(kType, {{"Logits", logits}, {"Label", logits}}),
                 "Label must hold i64 or i32, but holds f32");
}

}  // namespace
}  // namespace flotilla
