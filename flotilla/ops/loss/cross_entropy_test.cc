// flotilla/ops/loss/cross_entropy_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

const Tensor kChances = tensor({{0.5, 0.25, 0.25}, {0.125, 0.75, 0.125}});

TEST(CrossEntropy, KnownValues) {
  for (const std::string type : {"cross_entropy", "cross_entropy2"}) {
    for (const DType dtype : {i64, i32}) {
      const auto found = run_op(type, {{"X", kChances}, {"Label", ints({1, 0}, {2, 1}, dtype)}});
      EXPECT_THAT(found.at("Y"), near(tensor({1.386294, 2.079442}, {2, 1}), 1e-6));
    }
  }
}

TEST(CrossEntropy, KeepsTheMatchingProbability) {
  const auto found =
      run_op("cross_entropy2", {{"X", kChances}, {"Label", ints({1, -100}, {2, 1})}});
  EXPECT_THAT(found.at("MatchX"), near(tensor({0.25, 0}, {2, 1}), 0));
  EXPECT_THAT(found.at("Y"), near(tensor({1.386294, 0}, {2, 1}), 1e-6));
}

TEST(CrossEntropy, OfAnImpossibleLabelIsLargeButFinite) {
  for (const std::string type : {"cross_entropy", "cross_entropy2"}) {
    const auto found = run_op(type, {{"X", tensor({{0, 1}})}, {"Label", ints({0}, {1, 1})}});
    EXPECT_THAT(found.at("Y"), near({1e20}, 1e14));
  }
}

TEST(CrossEntropy, AllKernelsAgree) {
  const Tensor x = uniform({2, 3, 5}, 0.05, 0.9);
  const Tensor labels = ints({0, 4, 2, 1, 3, 3}, {2, 3, 1});
  for (const std::string type : {"cross_entropy", "cross_entropy2"}) {
    for (const int ignored : {-100, 3}) {
      check_op({.type = type,
                .inputs = {{"X", x}, {"Label", labels}},
                .attrs = {{"ignore_index", ignored}}});
    }
  }
  check_op({.type = "cross_entropy",
            .inputs = {{"X", x}, {"Label", uniform({2, 3, 5}, 0, 0.4, 2)}},
            .attrs = {{"soft_label", true}}});
}

TEST(CrossEntropy, RefusesLabelsThatDoNotFit) {
  EXPECT_REFUSED(build_op("cross_entropy2", {{"X", kChances}, {"Label", ints({0, 1, 2}, {3, 1})}}),
                 "Label must hold one class number for each row of X, but Label is [3, 1] and X is "
                 "[2, 3]");
  EXPECT_REFUSED(build_op("cross_entropy2", {{"X", kChances}, {"Label", tensor({0, 1})}}),
                 "Label must hold i64 or i32, but holds f32");
  EXPECT_REFUSED(run_op("cross_entropy2", {{"X", kChances}, {"Label", ints({0, 3})}}),
                 "label 1 is 3, but there are the classes 0 to 2");
  EXPECT_REFUSED(build_op("cross_entropy", {{"X", kChances}, {"Label", tensor({{0.5, 0.5}})}},
                          {{"soft_label", true}}),
                 "soft labels must have the shape of X, but Label is [1, 2] and X is [2, 3]");
  EXPECT_REFUSED(run_op("cross_entropy_grad2", {{"Label", ints({0, 1}, {2, 1})},
                                                {"MatchX", full({2, 1}, 0.5)},
                                                {"XShape", full({0}, 0)},
                                                {"Y@GRAD", full({2, 1}, 1)}}),
                 "XShape must be [0, extents of X...], but is [0]");
}

}  // namespace
}  // namespace flotilla
