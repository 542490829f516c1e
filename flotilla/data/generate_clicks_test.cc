#include "flotilla/data/generate_clicks.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <string_view>
#include <unordered_set>

#include "flotilla/base/error.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::data {
namespace {

namespace fs = std::filesystem;

struct Line {
  bool clicked = false;
  std::vector<std::string> fields = {};  // without the label
};

std::vector<Line> parse(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + 1);
    Line& parsed = lines.emplace_back();
    parsed.clicked = line.front() == '1';
    line.remove_prefix(1);
    while (!line.empty()) {
      line.remove_prefix(1);
      parsed.fields.emplace_back(line.substr(0, line.find('\t')));
      line.remove_prefix(parsed.fields.back().size());
    }
  }
  return lines;
}

TEST(Clicks, HaveCriteosFields) {
  int blanks = 0;
  const std::vector<Line> lines = parse(make_clicks(1, Split::kTrain, 0, 500));
  ASSERT_EQ(lines.size(), 500u);
  for (const Line& line : lines) {
    ASSERT_EQ(line.fields.size(), size_t{kClickIntegers + kClickCategories});
    for (int i = 0; i < kClickIntegers + kClickCategories; ++i) {
      const std::string& field = line.fields[i];
      blanks += field.empty();
      const std::string_view allowed = i < kClickIntegers ? "0123456789" : "0123456789abcdef";
      ASSERT_EQ(field.find_first_not_of(allowed), std::string::npos) << field;
      ASSERT_TRUE(i < kClickIntegers || field.empty() || field.size() == 8) << field;
    }
  }
  EXPECT_NEAR(blanks, 500 * 39 * 0.15, 500 * 39 * 0.05);
}

TEST(Clicks, LineIDependsOnSeedSplitAndIAlone) {
  const std::string whole = make_clicks(1, Split::kTrain, 0, 50);
  EXPECT_EQ(make_clicks(1, Split::kTrain, 0, 20) + make_clicks(1, Split::kTrain, 20, 30), whole);
  EXPECT_NE(make_clicks(1, Split::kTest, 0, 50), whole);
  EXPECT_NE(make_clicks(2, Split::kTrain, 0, 50), whole);
  EXPECT_THROW(make_clicks(1, Split::kTrain, -1, 5), Error);
}

// A change of any bit is seen.
TEST(Clicks, AreTheseBits) {
  const std::string text = make_clicks(1, Split::kTrain, 0, 1000);
  EXPECT_EQ(::crc32(0, reinterpret_cast<const Bytef*>(text.data()), text.size()), 2370026646u);
}

constexpr size_t kBuckets = 1 << 18;

// A bucket for the value of a slot; counters go by their number of digits in base 2.
size_t bucket(int slot, const std::string& field) {
  if (slot < kClickIntegers && !field.empty()) {
    return slot * 64 + 1 + std::bit_width(std::stoul(field));
  }
  return 2048 + std::hash<std::string>()(std::to_string(slot) + field) % (kBuckets - 2048);
}

// The share of pairs of a click and no click that scores put in the right order.
double auc(const std::vector<Line>& lines, const std::vector<double>& scores) {
  std::vector<size_t> order(lines.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  double below = 0, right = 0;
  for (const size_t i : order) (lines[i].clicked ? right : below) += lines[i].clicked ? below : 1;
  return right / (below * (lines.size() - below));
}

TEST(Clicks, LogisticRegressionLearnsThem) {
  const std::vector<Line> train = parse(make_clicks(1, Split::kTrain, 0, 20000));
  const std::vector<Line> test = parse(make_clicks(1, Split::kTest, 0, 5000));
  std::vector<double> weights(kBuckets);
  double bias = 0;
  const auto score = [&](const Line& line) {
    double s = bias;
    for (size_t i = 0; i < line.fields.size(); ++i) s += weights[bucket(i, line.fields[i])];
    return s;
  };
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const Line& line : train) {
      const double step = 0.02 * (line.clicked - 1 / (1 + std::exp(-score(line))));
      bias += step;
      for (size_t i = 0; i < line.fields.size(); ++i) weights[bucket(i, line.fields[i])] += step;
    }
  }
  std::vector<double> scores;
  for (const Line& line : test) scores.push_back(score(line));
  EXPECT_GT(auc(test, scores), 0.7);
  EXPECT_LT(auc(test, scores), 0.9);
  const auto clicks = std::count_if(train.begin(), train.end(), [](auto& l) { return l.clicked; });
  EXPECT_NEAR(clicks / 20000.0, 0.25, 0.04);
}

TEST(Clicks, AreWrittenToFiles) {
  const TempDir temp;
  const fs::path& dir = temp.path();
  const auto paths = write_clicks(dir, {.train = 10, .test = 4, .train_files = 3, .seed = 7});
  EXPECT_THAT(paths, testing::ElementsAre(dir / "train/part-0", dir / "train/part-1",
                                          dir / "train/part-2", dir / "test/part-0"));
  std::string whole;
  for (int i = 0; i < 3; ++i) {
    std::ifstream file(paths[i]);
    whole.append(std::istreambuf_iterator<char>(file), {});
  }
  EXPECT_EQ(whole, make_clicks(7, Split::kTrain, 0, 10));
}

}  // namespace
}  // namespace flotilla::data
