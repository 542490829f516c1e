#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

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
