#include "flotilla/data/generate_housing.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

#include "flotilla/base/error.h"

namespace flotilla::data {
namespace {

using Row = std::array<double, kHousingColumns>;

std::vector<Row> parse(const std::string& text) {
  std::vector<Row> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    Row row = {};
    for (double& value : row) numbers >> value;
    EXPECT_TRUE(numbers && (numbers >> std::ws).eof()) << line;
    rows.push_back(row);
  }
  return rows;
}

TEST(Housing, HasTheShapeAndTheRangesOfTheRealTable) {
  const std::vector<Row> rows = parse(make_housing(1));
  ASSERT_EQ(rows.size(), 506u);
  const Row low = {0.006, 0, 0.46, 0, 0.385, 3.561, 2.9, 1.1296, 1, 187, 12.6, 0.32, 1.73, 5};
  const Row high = {88.9763, 100, 27.74, 1,  0.871, 8.78,  100,
                    12.1265, 24,  711,   22, 396.9, 37.97, 50};
  for (int i = 0; i < kHousingColumns; ++i) {
    const auto [least, most] = std::minmax_element(
        rows.begin(), rows.end(), [i](const Row& a, const Row& b) { return a[i] < b[i]; });
    EXPECT_GE((*least)[i], low[i]) << i;
    EXPECT_LE((*most)[i], high[i]) << i;
    EXPECT_GT((*most)[i] - (*least)[i], 0.7 * (high[i] - low[i])) << i;
  }
}

TEST(Housing, IsTheSameForASeedAndABeginningOfMore) {
  const std::string rows = make_housing(1, 20);
  EXPECT_TRUE(make_housing(1, 30).starts_with(rows));
  EXPECT_NE(make_housing(2, 20), rows);
  EXPECT_EQ(make_housing(1, 0), "");
  EXPECT_THAT([] { make_housing(1, -1); }, testing::ThrowsMessage<Error>(testing::HasSubstr("-1")));
}

// A change of any bit is seen.
TEST(Housing, AreTheseBits) {
  const std::string text = make_housing(1);
  EXPECT_EQ(::crc32(0, reinterpret_cast<const Bytef*>(text.data()), text.size()), 36451059u);
}

// Scales features as paddle.dataset.uci_housing does, fits a line to four fifths of the rows by
// gradient descent, and returns the share of the variance of the rest that it explains.
double explained(std::vector<Row> rows) {
  constexpr int kFeatures = kHousingColumns - 1;
  for (int i = 0; i < kFeatures; ++i) {
    double sum = 0, low = rows[0][i], high = rows[0][i];
    for (const Row& row : rows) {
      sum += row[i];
      low = std::min(low, row[i]);
      high = std::max(high, row[i]);
    }
    for (Row& row : rows) row[i] = (row[i] - sum / rows.size()) / (high - low);
  }
  const size_t train = rows.size() * 4 / 5;
  std::array<double, kFeatures> weights = {};
  double bias = 0;
  const auto predict = [&](const Row& row) {
    double y = bias;
    for (int i = 0; i < kFeatures; ++i) y += weights[i] * row[i];
    return y;
  };
  for (int epoch = 0; epoch < 200; ++epoch) {
    for (size_t r = 0; r < train; ++r) {
      const double error = predict(rows[r]) - rows[r].back();
      bias -= 0.01 * error;
      for (int i = 0; i < kFeatures; ++i) weights[i] -= 0.01 * error * rows[r][i];
    }
  }
  double mean = 0, variance = 0, left = 0;
  for (size_t r = train; r < rows.size(); ++r) mean += rows[r].back() / (rows.size() - train);
  for (size_t r = train; r < rows.size(); ++r) {
    const double y = rows[r].back(), error = predict(rows[r]) - y;
    variance += (y - mean) * (y - mean);
    left += error * error;
  }
  return 1 - left / variance;
}

TEST(Housing, ALineExplainsMostOfThePrice) {
  for (const uint64_t seed : {1, 2, 3}) {
    const double share = explained(parse(make_housing(seed)));
    EXPECT_GT(share, 0.65) << seed;
    EXPECT_LT(share, 0.9) << seed;
  }
}

}  // namespace
}  // namespace flotilla::data
