#include "flotilla/data/generate_ratings.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "flotilla/base/error.h"

namespace flotilla::data {
namespace {

std::vector<std::vector<std::string>> rows_of(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string>& row = rows.emplace_back();
    for (size_t at = 0; at <= line.size();) {
      const size_t end = std::min(line.find("::", at), line.size());
      row.push_back(line.substr(at, end - at));
      at = end + 2;
    }
  }
  return rows;
}

// A change of any bit is seen.
TEST(GeneratedRatings, AreTheseBits) {
  const Ratings made = make_ratings();
  const std::string text = made.users + made.movies + made.ratings;
  EXPECT_EQ(::crc32(0, reinterpret_cast<const Bytef*>(text.data()), text.size()), 2085218111u);
}

TEST(GeneratedRatings, HaveMovieLensFields) {
  const Ratings made = make_ratings({.users = 30, .movies = 20, .per_user = 10});
  const auto users = rows_of(made.users), movies = rows_of(made.movies);
  ASSERT_EQ(users.size(), 30u);
  ASSERT_EQ(movies.size(), 20u);
  EXPECT_THAT(users, testing::Each(testing::SizeIs(5)));
  EXPECT_THAT(movies, testing::Each(testing::SizeIs(3)));
  std::map<std::pair<std::string, std::string>, int> seen;
  for (const auto& row : rows_of(made.ratings)) {
    ASSERT_EQ(row.size(), 4u);
    EXPECT_THAT(row[2], testing::AnyOf("1", "2", "3", "4", "5"));
    EXPECT_EQ(++seen[std::pair(row[0], row[1])], 1);  // nobody rates a film twice
  }
  EXPECT_THROW(make_ratings({.users = 0}), Error);
}

// The mean of a film in one half of the ratings tells of the other half.
TEST(GeneratedRatings, AreLearnable) {
  struct Mean {
    double sum = 0, count = 0;
  };
  std::map<std::string, Mean> films;
  Mean all;
  const auto rows = rows_of(make_ratings().ratings);
  ASSERT_GT(rows.size(), 20000u);
  for (size_t i = 0; i < rows.size(); i += 2) {
    Mean& film = films[rows[i][1]];
    film.sum += std::stod(rows[i][2]);
    ++film.count;
    all.sum += std::stod(rows[i][2]);
    ++all.count;
  }
  double variance = 0, left = 0;
  for (size_t i = 1; i < rows.size(); i += 2) {
    const double stars = std::stod(rows[i][2]), mean = all.sum / all.count;
    const Mean& film = films[rows[i][1]];
    const double guess = film.count > 0 ? film.sum / film.count : mean;
    variance += (stars - mean) * (stars - mean);
    left += (stars - guess) * (stars - guess);
  }
  EXPECT_LT(left, 0.85 * variance);
}

}  // namespace
}  // namespace flotilla::data
