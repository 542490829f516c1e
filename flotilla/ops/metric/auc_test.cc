#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

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

}  // namespace
}  // namespace flotilla
