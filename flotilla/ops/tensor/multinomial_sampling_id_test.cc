#include <algorithm>

#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

Tensor make(const std::string& type, Attrs attrs, const Inputs& inputs = {}) {
  return run_op(type, inputs, attrs).at("Out");
}

TEST(Multinomial, DrawsByWeight) {
  const Tensor weights = tensor({{0, 2, 0, 0}, {1, 0, 3, 0}});
  const Tensor drawn =
      make("multinomial", {{"num_samples", 8000}, {"replacement", true}}, {{"X", weights}});
  EXPECT_THAT(drawn, has_shape({2, 8000}));
  std::map<int64_t, int> counts;
  for (int i = 0; i < 8000; ++i) {
    EXPECT_EQ(drawn.span<int64_t>()[i], 1);
    ++counts[drawn.span<int64_t>()[8000 + i]];
  }
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_NEAR(counts[2], 6000, 150);
  const Tensor once = make("multinomial", {{"num_samples", 3}}, {{"X", tensor({1, 0, 3, 9})}});
  std::vector<double> all = values_of(once);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, std::vector<double>({0, 2, 3}));
  EXPECT_REFUSED(make("multinomial", {{"num_samples", 2}}, {{"X", weights}}),
                 "1 of 4 columns have a weight, too few for 2 samples");
  EXPECT_REFUSED(make("multinomial", {}, {{"X", tensor({1, -1})}}),
                 "the weights of multinomial must be finite and not negative, but one is -1");
  EXPECT_REFUSED(build_op("multinomial", {{"X", weights}}, {{"num_samples", 0}}),
                 "num_samples must be positive, but is 0");
  EXPECT_REFUSED(build_op("multinomial", {{"X", full({1, 1, 1}, 1)}}),
                 "X must be a vector or a matrix, but has shape [1, 1, 1]");
}

TEST(SamplingId, DrawsByTheProbabilities) {
  std::vector<double> rows;
  for (int i = 0; i < 2000; ++i) rows.insert(rows.end(), {0.0, 0.25, 0.75});
  const Tensor x = from_values(rows, Shape{2000, 3}, f32);
  std::vector<double> shares(3);
  for (const double column :
       values_of(run_op("sampling_id", {{"X", x}}, {{"seed", 3}}).at("Out"))) {
    shares[static_cast<size_t>(column)] += 1.0 / 2000;
  }
  EXPECT_EQ(shares[0], 0);
  EXPECT_NEAR(shares[1], 0.25, 0.04);
}

}  // namespace
}  // namespace flotilla
