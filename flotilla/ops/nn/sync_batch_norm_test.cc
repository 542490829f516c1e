// On several ranks, each with a part of the batch, as batch_norm on one with all of it.

#include <gmock/gmock.h>

#include <numeric>

#include "flotilla/testing/rank_ops.h"

namespace flotilla {
namespace {

using testing::on_ranks;

const OpOptions kForward = {
    .outputs = {
        {"Y", 1}, {"MeanOut", 1}, {"VarianceOut", 1}, {"SavedMean", 1}, {"SavedVariance", 1}}};
const OpOptions kBackward = {.outputs = {{"X@GRAD", 1}, {"Scale@GRAD", 1}, {"Bias@GRAD", 1}}};
const std::vector<std::vector<int64_t>> kParts = {{8}, {4, 4}, {5, 3}, {2, 2, 2, 2}};

Tensor rows_of(const Tensor& whole, const std::vector<int64_t>& parts, int rank) {
  const std::vector<double> values = values_of(whole);
  const int64_t width = whole.shape().numel(1, whole.shape().rank());
  const int64_t before = std::accumulate(parts.begin(), parts.begin() + rank, int64_t{0});
  Shape shape = whole.shape();
  shape[0] = parts[static_cast<size_t>(rank)];
  const auto begin = values.begin() + before * width;
  return from_values({begin, begin + shape.numel()}, shape, whole.dtype());
}

// Large means beside small variances: what sums of squares get wrong.
Inputs inputs_for(const Tensor& x, int64_t channels, DType dtype) {
  return {{"X", x},
          {"Scale", uniform({channels}, 0.5, 1.5, 2, dtype)},
          {"Bias", uniform({channels}, -1, 1, 3, dtype)},
          {"Mean", uniform({channels}, -0.1, 0.1, 4, dtype)},
          {"Variance", uniform({channels}, 0.5, 1.5, 5, dtype)}};
}

TEST(SyncBatchNorm, RanksNormalizeAsOneWithTheWholeBatch) {
  for (const Shape& shape : {Shape{8, 5}, Shape{8, 20, 3, 3}, Shape{8, 3, 5, 4}}) {
    for (const DType dtype : {f32, f64}) {
      const Tensor x = uniform(shape, 10, 12, 1, dtype);
      const OpResult whole = run_op("batch_norm", inputs_for(x, shape[1], dtype), {}, kForward);
      for (const auto& parts : kParts) {
        const auto results = on_ranks(
            static_cast<int>(parts.size()),
            [&](int rank) { return inputs_for(rows_of(x, parts, rank), shape[1], dtype); },
            "sync_batch_norm", {}, kForward);
        for (size_t r = 0; r < parts.size(); ++r) {
          EXPECT_THAT(results[r].at("Y"),
                      near(rows_of(whole.at("Y"), parts, static_cast<int>(r)), 1e-5));
          for (const char* slot : {"MeanOut", "VarianceOut", "SavedMean", "SavedVariance"}) {
            EXPECT_THAT(results[r].at(slot), near(whole.at(slot), 1e-5)) << slot;
            EXPECT_THAT(results[r].at(slot), equal_to(results[0].at(slot))) << slot;
          }
        }
      }
    }
  }
}

TEST(SyncBatchNorm, GradientsAreThoseOfTheWholeBatch) {
  const Shape shape = {8, 5, 3, 3};
  for (const DType dtype : {f32, f64}) {
    const Tensor x = uniform(shape, 10, 12, 1, dtype), dy = uniform(shape, -1, 1, 7, dtype);
    Inputs saved = inputs_for(x, shape[1], dtype);
    const OpResult forward = run_op("batch_norm", saved, {}, kForward);
    const auto inputs = [&](const Tensor& part, const Tensor& dy_part) {
      return Inputs{{"X", part},
                    {"Scale", saved.at("Scale")},
                    {"Bias", saved.at("Bias")},
                    {"SavedMean", forward.at("SavedMean")},
                    {"SavedVariance", forward.at("SavedVariance")},
                    {"Y@GRAD", dy_part}};
    };
    const OpResult whole = run_op("batch_norm_grad", inputs(x, dy), {}, kBackward);
    for (const auto& parts : kParts) {
      const auto results = on_ranks(
          static_cast<int>(parts.size()),
          [&](int rank) { return inputs(rows_of(x, parts, rank), rows_of(dy, parts, rank)); },
          "sync_batch_norm_grad", {}, kBackward);
      std::vector<double> scale(5), bias(5);
      for (size_t r = 0; r < parts.size(); ++r) {
        EXPECT_THAT(results[r].at("X@GRAD"),
                    near(rows_of(whole.at("X@GRAD"), parts, static_cast<int>(r)), 1e-5));
        for (size_t c = 0; c < 5; ++c) {
          scale[c] += values_of(results[r].at("Scale@GRAD"))[c];
          bias[c] += values_of(results[r].at("Bias@GRAD"))[c];
        }
      }
      // Each rank has those of its part, which are exchanged like all gradients of parameters.
      EXPECT_THAT(whole.at("Scale@GRAD"), near(scale, 1e-4));
      EXPECT_THAT(whole.at("Bias@GRAD"), near(bias, 1e-4));
    }
  }
}

TEST(SyncBatchNorm, InferenceNeedsNobodyElse) {
  const Tensor x = uniform({2, 3}, -1, 1);
  const OpResult expected =
      run_op("batch_norm", inputs_for(x, 3, f32), {{"is_test", true}}, {.outputs = {{"Y", 1}}});
  const auto results = on_ranks(2,
                                [&](int rank) {
                                  return inputs_for(rank == 0 ? x : uniform({5, 3}, 3, 4), 3, f32);
                                },
                                "sync_batch_norm", {{"is_test", true}}, {.outputs = {{"Y", 1}}});
  EXPECT_THAT(results[0].at("Y"), equal_to(expected.at("Y")));
}

}  // namespace
}  // namespace flotilla
