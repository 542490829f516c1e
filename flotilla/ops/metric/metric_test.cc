// flotilla/ops/metric/metric_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Accuracy, CountsRowsThatHoldTheLabel) {
  for (const DType dtype : {i64, i32}) {
    const auto found = run_op("accuracy", {{"Out", uniform({4, 2}, 0, 1)},
                                           {"Indices", ints({1, 2, 0, 1, 2, 0, 0, 1}, {4, 2})},
                                           {"Label", ints({2, 2, 1, 1}, {4, 1}, dtype)}});
    EXPECT_THAT(found.at("Accuracy"), equal_to(tensor({0.5})));
    EXPECT_THAT(found.at("Correct"), equal_to(ints({2}, i32)));
    EXPECT_THAT(found.at("Total"), equal_to(ints({4}, i32)));
  }
}

TEST(Accuracy, Refusals) {
  const Tensor out = uniform({2, 1}, 0, 1);
  EXPECT_REFUSED(
      run_op("accuracy",
             {{"Out", out}, {"Indices", ints({0, 1}, {2, 1})}, {"Label", ints({1, -3})}}),
      "label 1 is -3, but must not be negative");
  EXPECT_REFUSED(
      build_op("accuracy", {{"Out", out}, {"Indices", ints({0, 1}, {2, 1})}, {"Label", ints({1})}}),
      "Label must hold one class number for each row of Indices, but Label is [1] and Indices is "
      "[2, 1]");
}

const Tensor kPredict = tensor({{0.3, 0.7}, {0.7, 0.3}, {0.9, 0.1}, {0.3, 0.7}, {0.4, 0.6}});
const Tensor kLabel = ints({1, 0, 0, 0, 1}, {5, 1});
const OpOptions kInPlace = {.in_place = {{"StatPos", "StatPosOut"}, {"StatNeg", "StatNegOut"}}};

OpResult auc(const Tensor& positive, const Tensor& negative, const Tensor& predict, int slide) {
  return run_op(
      "auc",
      {{"Predict", predict}, {"Label", kLabel}, {"StatPos", positive}, {"StatNeg", negative}},
      {{"num_thresholds", 8}, {"slide_steps", slide}}, kInPlace);
}

TEST(Auc, KnownValues) {
  const Tensor empty = full({1, 9}, 0, i64);
  const auto first = auc(empty, empty, kPredict, 0);
  EXPECT_THAT(first.at("StatPosOut"), equal_to(ints({0, 0, 0, 0, 1, 1, 0, 0, 0}, {1, 9})));
  EXPECT_THAT(first.at("StatNegOut"), equal_to(ints({1, 0, 1, 0, 0, 1, 0, 0, 0}, {1, 9})));
  // Of the six pairs four are in order, one ties, one is out of order.
  EXPECT_THAT(first.at("AUC"), near(tensor({4.5 / 6}, f64), 1e-12));
  // Statistics add up; in f64 alike.
  const auto second =
      auc(first.at("StatPosOut"), first.at("StatNegOut"), converted(kPredict, f64), 0);
  EXPECT_THAT(second.at("StatPosOut"), equal_to(ints({0, 0, 0, 0, 2, 2, 0, 0, 0}, {1, 9})));
  EXPECT_THAT(second.at("AUC"), near({4.5 / 6}, 1e-12));
  // As Paddle's layer makes them.
  const Tensor longer = full({10}, 0, i64);
  const auto third = auc(longer, longer, kPredict, 0);
  EXPECT_THAT(third.at("StatPosOut"), equal_to(ints({0, 0, 0, 0, 1, 1, 0, 0, 0, 0})));
  EXPECT_THAT(third.at("AUC"), near({4.5 / 6}, 1e-12));
}

TEST(Auc, AWindowForgetsOldRuns) {
  const Tensor none = tensor({{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}});
  Tensor positive = full({28}, 0, i64), negative = full({28}, 0, i64);
  for (const Tensor& predict : {kPredict, none, none}) {
    const auto found = auc(positive, negative, predict, 2);
    positive = found.at("StatPosOut");
    negative = found.at("StatNegOut");
  }
  // The third run took the place of the first.
  std::vector<double> expected(28, 0);
  expected[0] = expected[9] = 2;
  expected[18] = 4;
  expected[27] = 3;
  EXPECT_THAT(positive, equal_to(expected));
}

TEST(Auc, IsZeroWhereAClassIsMissing) {
  const Tensor empty = full({1, 9}, 0, i64);
  const auto found = run_op("auc",
                            {{"Predict", tensor({{0.5, 0.5}})},
                             {"Label", ints({1}, {1, 1})},
                             {"StatPos", empty},
                             {"StatNeg", empty}},
                            {{"num_thresholds", 8}, {"slide_steps", 0}}, kInPlace);
  EXPECT_THAT(found.at("AUC"), near({0}, 0));
}

TEST(Auc, Refusals) {
  EXPECT_REFUSED(auc(full({1, 8}, 0, i64), full({1, 9}, 0, i64), kPredict, 0),
                 "StatPos must hold 9 counts for num_thresholds 8 and slide_steps 0, but has shape "
                 "[1, 8]");
  const Tensor empty = full({1, 9}, 0, i64);
  const Tensor wrong = tensor({{0, 1}, {0, 1.5}, {0, 1}, {0, 1}, {0, 1}});
  EXPECT_REFUSED(auc(empty, empty, wrong, 0), "prediction 1 is 1.5, but must lie in [0, 1]");
}

// The numbers of these two are Paddle 1.8.5's.
TEST(MeanIou, CountsClassesThatOccur) {
  for (const DType dtype : {i64, i32}) {
    const auto found = run_op("mean_iou",
                              {{"Predictions", ints({0, 1, 2, 1, 1, 0}, {2, 3}, dtype)},
                               {"Labels", ints({0, 1, 1, 1, 2, 0}, {2, 3}, dtype)}},
                              {{"num_classes", 4}});
    EXPECT_THAT(found.at("OutMeanIou"), near({0.5}, 1e-6));
    EXPECT_THAT(found.at("OutWrong"), equal_to(ints({0, 2, 2, 0}, i32)));
    EXPECT_THAT(found.at("OutCorrect"), equal_to(ints({2, 2, 0, 0}, i32)));
  }
}

TEST(MeanIou, AddsEarlierCounts) {
  const auto found = run_op("mean_iou",
                            {{"Predictions", ints({0, 1, 2, 1, 1, 0})},
                             {"Labels", ints({0, 1, 1, 1, 2, 0})},
                             {"InWrongs", ints({1, 2, 0, 1}, i32)},
                             {"InCorrects", ints({3, 0, 1, 0}, i32)},
                             {"InMeanIou", tensor({0.25})}},
                            {{"num_classes", 4}});
  EXPECT_THAT(found.at("OutMeanIou"), near({0.625}, 1e-6));
  EXPECT_THAT(found.at("OutWrong"), equal_to(ints({1, 4, 2, 1}, i32)));
  EXPECT_THAT(found.at("OutCorrect"), equal_to(ints({5, 2, 1, 0}, i32)));
}

TEST(MeanIou, Refusals) {
  const auto run = [](const Tensor& found, const Tensor& wrongs) {
    return run_op("mean_iou",
                  {{"Predictions", found}, {"Labels", ints({0, 1})}, {"InWrongs", wrongs}},
                  {{"num_classes", 2}});
  };
  EXPECT_REFUSED(run(ints({0, 2}), ints({0, 0}, i32)),
                 "label 1 is 2, but there are the classes 0 to 1");
  EXPECT_REFUSED(run(ints({0, 1}), ints({0}, i32)),
                 "InWrongs must hold 2 numbers, but has shape [1]");
  EXPECT_REFUSED(run(ints({0}), ints({0, 0}, i32)),
                 "Predictions and Labels must be of one size, but are [1] and [2]");
}

}  // namespace
}  // namespace flotilla
