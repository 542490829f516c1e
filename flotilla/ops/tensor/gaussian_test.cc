#include <algorithm>
#include <cmath>

#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

using Numbers = std::vector<int32_t>;

Tensor make(const std::string& type, Attrs attrs, const Inputs& inputs = {}) {
  return run_op(type, inputs, attrs).at("Out");
}

// The shares of a normal distribution cut at two deviations: the inverse of the error function is
// right everywhere, not only in the mean.
TEST(TruncatedGaussianRandom, QuantilesOfTheTruncatedNormal) {
  std::vector<double> x =
      values_of(make("truncated_gaussian_random", {{"shape", Numbers{200000}}, {"seed", 3}}));
  std::sort(x.begin(), x.end());
  const double reach = std::erf(std::sqrt(2.0));
  for (const double z : {-1.9, -1.0, -0.3, 0.0, 0.5, 1.5}) {
    const double below = static_cast<double>(std::lower_bound(x.begin(), x.end(), z) - x.begin());
    EXPECT_NEAR(below / 200000, 0.5 + 0.5 * std::erf(z / std::sqrt(2.0)) / reach, 0.004) << z;
  }
}

TEST(GaussianRandomBatchSizeLike, HasTheRowsOfAnother) {
  const OpResult found =
      run_op("gaussian_random_batch_size_like", {{"Input", full({500, 2}, 0)}},
             {{"shape", std::vector<int32_t>{-1, 4}}, {"mean", 3.0f}, {"std", 0.5f}, {"seed", 1}});
  EXPECT_THAT(found.at("Out"), has_shape({500, 4}));
  double sum = 0;
  for (const double value : values_of(found.at("Out"))) sum += value;
  EXPECT_NEAR(sum / 2000, 3, 0.05);
}

}  // namespace
}  // namespace flotilla
