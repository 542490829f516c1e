#include "flotilla/data/generate_text.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "flotilla/base/error.h"

namespace flotilla::data {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// A change of any bit is seen.
TEST(GeneratedText, AreTheseBits) {
  const std::string text = make_review(1, Split::kTrain, 0, true) +
                           make_review(1, Split::kTest, 3, false) +
                           make_news(1, Split::kTrain, 0, 100);
  EXPECT_EQ(::crc32(0, reinterpret_cast<const Bytef*>(text.data()), text.size()), 2050403536u);
}

TEST(GeneratedText, DependsOnSeedSplitAndIndex) {
  const std::string news = make_news(1, Split::kTrain, 0, 9);
  EXPECT_EQ(make_news(1, Split::kTrain, 0, 4) + make_news(1, Split::kTrain, 4, 5), news);
  EXPECT_NE(make_news(1, Split::kTest, 0, 9), news);
  EXPECT_NE(make_review(1, Split::kTrain, 2, true), make_review(1, Split::kTrain, 2, false));
  EXPECT_NE(make_review(1, Split::kTrain, 2, true), make_review(1, Split::kTrain, 3, true));
  EXPECT_THROW(make_news(1, Split::kTrain, 0, -1), Error);
}

TEST(GeneratedText, TemplatesAreFilled) {
  for (int i = 0; i < 200; ++i) {
    const std::string review = make_review(1, Split::kTrain, i, i % 2 == 0);
    EXPECT_EQ(review.find_first_of("{}"), std::string::npos) << review;
    EXPECT_EQ(review.find("  "), std::string::npos) << review;
    EXPECT_THAT(words_of(review).size(), testing::AllOf(testing::Gt(15u), testing::Lt(200u)));
  }
  const std::string news = make_news(1, Split::kTrain, 0, 500);
  EXPECT_EQ(news.find_first_of("{}ABCDEFGH"), std::string::npos);
  EXPECT_EQ(std::count(news.begin(), news.end(), '\n'), 500);
}

// Counts of words, as naive Bayes takes them.
TEST(GeneratedText, ReviewsAreLearnable) {
  std::map<std::string, std::array<double, 2>> seen;
  for (int i = 0; i < 200; ++i) {
    for (const bool positive : {false, true}) {
      for (const auto& word : words_of(make_review(1, Split::kTrain, i, positive))) {
        ++seen[word][positive];
      }
    }
  }
  int right = 0;
  for (int i = 0; i < 200; ++i) {
    const bool positive = i % 2 == 0;
    double score = 0;
    for (const auto& word : words_of(make_review(1, Split::kTest, i, positive))) {
      score += std::log((seen[word][1] + 1) / (seen[word][0] + 1));
    }
    right += (score > 0) == positive;
  }
  EXPECT_GT(right, 170);
  EXPECT_LT(right, 200);
}

// A word narrows down the next: the entropy of pairs is far below that of single words.
TEST(GeneratedText, NewsAreLearnable) {
  std::map<std::string, double> single;
  std::map<std::pair<std::string, std::string>, double> pairs;
  const std::vector<std::string> words = words_of(make_news(1, Split::kTrain, 0, 2000));
  for (size_t i = 1; i < words.size(); ++i) {
    ++single[words[i]];
    ++pairs[{words[i - 1], words[i]}];
  }
  const auto bits = [&](const auto& counts) {
    double entropy = 0;
    for (const auto& [_, n] : counts) entropy -= n / words.size() * std::log2(n / words.size());
    return entropy;
  };
  EXPECT_GT(bits(single), 5);
  EXPECT_LT(bits(pairs) - bits(single), 3);
}

}  // namespace
}  // namespace flotilla::data
