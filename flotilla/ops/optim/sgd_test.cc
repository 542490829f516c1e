#include "flotilla/testing/in_place.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const Tensor kRate = tensor({0.1});

const OpOptions kSgd = in_place({"Param"});

TEST(Sgd, KnownValues) {
  const Inputs inputs = {
      {"Param", tensor({1, 2})}, {"Grad", tensor({0.5, -1})}, {"LearningRate", kRate}};
  EXPECT_THAT(run_op("sgd", inputs, {}, kSgd).at("ParamOut"), near({0.95, 2.1}, 1e-6));
  // Into another variable the parameter is copied first.
  EXPECT_THAT(run_op("sgd", inputs).at("ParamOut"), near({0.95, 2.1}, 1e-6));
}

TEST(Sgd, TakesALearningRateOfEitherPrecision) {
  for (const DType dtype : {f32, f64}) {
    const Inputs inputs = {{"Param", tensor({1, 2}, dtype)},
                           {"Grad", tensor({0.5, -1}, dtype)},
                           {"LearningRate", tensor({0.1}, dtype == f32 ? f64 : f32)}};
    EXPECT_THAT(run_op("sgd", inputs, {}, kSgd).at("ParamOut"), near({0.95, 2.1}, 1e-6));
  }
}

TEST(Sgd, EveryOccurrenceOfASparseRowCounts) {
  const Inputs inputs = {{"Param", full({4, 2}, 1)},
                         {"Grad", sparse({1, 1, 3}, full({3, 2}, 1), 4)},
                         {"LearningRate", kRate}};
  EXPECT_THAT(run_op("sgd", inputs, {}, kSgd).at("ParamOut"),
              near({1, 1, 0.8, 0.8, 1, 1, 0.9, 0.9}, 1e-6));
}

TEST(Sgd, ManySparseRowsOnManyThreads) {
  const int64_t height = 50, count = 9000, width = 8;
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < count; ++i) rows.push_back(i * 7 % height);
  const SelectedRows grad = sparse(rows, uniform({count, width}, -1, 1), height);
  const Tensor param = uniform({height, width}, -1, 1, 2);
  const auto found =
      run_op("sgd", {{"Param", param}, {"Grad", grad}, {"LearningRate", kRate}}, {}, kSgd);
  const auto dense = run_op(
      "sgd", {{"Param", param}, {"Grad", grad.to_dense()}, {"LearningRate", kRate}}, {}, kSgd);
  EXPECT_THAT(found.at("ParamOut"), near(dense.at("ParamOut"), 1e-4));
}

TEST(Sgd, Refusals) {
  EXPECT_REFUSED(
      build_op("sgd",
               {{"Param", full({2, 3}, 0)}, {"Grad", full({3, 2}, 0)}, {"LearningRate", kRate}}),
      "Grad \"Grad_0\" must have shape [2, 3], as Param \"Param_0\" has, but has shape [3, 2]");
  EXPECT_REFUSED(
      build_op("sgd",
               {{"Param", full({2}, 0)}, {"Grad", full({2}, 0)}, {"LearningRate", tensor({1, 2})}}),
      "LearningRate \"LearningRate_0\" must hold one number, but has shape [2]");
  EXPECT_REFUSED(run_op("sgd",
                        {{"Param", full({4, 2}, 1)},
                         {"Grad", sparse({1, 4}, full({2, 2}, 1), 4)},
                         {"LearningRate", kRate}},
                        {}, kSgd),
                 "the gradient holds row 4, but the parameter has the rows 0 to 3");
}

}  // namespace
}  // namespace flotilla
