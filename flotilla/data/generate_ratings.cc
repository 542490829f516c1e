#include "flotilla/data/generate_ratings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/data/counter_random.h"

// Same bits everywhere: all arithmetic is on whole numbers, likings in hundredths of a star.

namespace flotilla::data {
namespace {

constexpr uint64_t kUserStream = 0x75736572;    // "user"
constexpr uint64_t kMovieStream = 0x6d6f7669;   // "movi"
constexpr uint64_t kRatingStream = 0x72617465;  // "rate"
constexpr uint64_t kTasteStream = 0x74617374;   // "tast"

constexpr std::array<std::string_view, 18> kKinds = {
    "Action",      "Adventure", "Animation", "Children's", "Comedy", "Crime",
    "Documentary", "Drama",     "Fantasy",   "Film-Noir",  "Horror", "Musical",
    "Mystery",     "Romance",   "Sci-Fi",    "Thriller",   "War",    "Western"};
constexpr std::array<int, 7> kAges = {1, 18, 25, 35, 45, 50, 56};
constexpr int kJobs = 21;

constexpr std::array<std::string_view, 24> kQualities = {
    "Silent",  "Golden",  "Last",    "Lost",      "Secret", "Broken",  "Distant", "Midnight",
    "Crimson", "Hidden",  "Endless", "Forgotten", "Wild",   "Bitter",  "Little",  "Great",
    "Second",  "Burning", "Frozen",  "Hollow",    "Lonely", "Perfect", "Quiet",   "Stolen"};
constexpr std::array<std::string_view, 24> kThings = {
    "River",   "Summer", "Letter", "House",  "Garden",  "Voyage",   "Dream",    "Shadow",
    "Kingdom", "Train",  "Island", "Winter", "Promise", "Stranger", "Mountain", "City",
    "Road",    "Song",   "Harbor", "Mirror", "Forest",  "Station",  "Star",     "Game"};

struct User {
  bool male = false;
  int age = 0;  // its place in kAges
  int strictness = 0;
};

struct Movie {
  std::vector<int> kinds = {};
  int quality = 0;
};

User make_user(uint64_t seed, int id, std::string& text) {
  CounterRandom random(seed, kUserStream, id);
  const User user = {.male = random.chance(70),
                     .age = random.below(kAges.size()),
                     .strictness = random.bell_whole(60)};
  const int job = random.below(kJobs), zip = random.below(100000);
  fmt::format_to(std::back_inserter(text), "{}::{}::{}::{}::{:05}\n", id, user.male ? 'M' : 'F',
                 kAges[user.age], job, zip);
  return user;
}

Movie make_movie(uint64_t seed, int id, std::string& text) {
  CounterRandom random(seed, kMovieStream, id);
  Movie movie = {.quality = random.bell_whole(180)};
  const std::string_view quality = kQualities[random.below(kQualities.size())];
  const std::string_view thing = kThings[random.below(kThings.size())];
  const int year = random.between(1930, 2000);
  fmt::format_to(std::back_inserter(text), "{}::{} {} ({})::", id, quality, thing, year);
  for (int left = random.between(1, 3); left > 0; --left) {
    const int kind = random.below(kKinds.size());
    if (std::ranges::find(movie.kinds, kind) == movie.kinds.end()) movie.kinds.push_back(kind);
  }
  std::ranges::sort(movie.kinds);
  for (size_t i = 0; i < movie.kinds.size(); ++i) {
    if (i > 0) text += '|';
    text += kKinds[movie.kinds[i]];
  }
  text += '\n';
  return movie;
}

// How users of a gender and an age like a kind.
int taste(uint64_t seed, const User& user, int kind) {
  const int group = (user.male ? 0 : static_cast<int>(kAges.size())) + user.age;
  CounterRandom of_gender(seed, kTasteStream, 1000 + kind * 2 + (user.male ? 1 : 0));
  CounterRandom of_group(seed, kTasteStream, 2000 + kind * 20 + group);
  return of_gender.bell_whole(220) + of_group.bell_whole(150);
}

int stars(uint64_t seed, const User& user, const Movie& movie, CounterRandom& random) {
  int liking = 0;
  for (const int kind : movie.kinds) liking += taste(seed, user, kind);
  liking /= static_cast<int>(movie.kinds.size());
  const int score = 350 + movie.quality + liking - user.strictness + random.bell_whole(180);
  return std::clamp((score + 50) / 100, 1, 5);
}

}  // namespace

Ratings make_ratings(const RatingsOptions& options) {
  require(options.users > 0 && options.movies > 0 && options.per_user >= 0,
          "ratings need users and movies, but there are {} and {}, with {} ratings of each user",
          options.users, options.movies, options.per_user);
  Ratings made;
  std::vector<Movie> movies;
  for (int id = 1; id <= options.movies; ++id) {
    movies.push_back(make_movie(options.seed, id, made.movies));
  }
  for (int id = 1; id <= options.users; ++id) {
    const User user = make_user(options.seed, id, made.users);
    CounterRandom random(options.seed, kRatingStream, id);
    std::vector<bool> rated(movies.size());
    for (int i = 0; i < options.per_user; ++i) {
      const int movie = random.below(options.movies);
      const int given = stars(options.seed, user, movies[movie], random);
      if (rated[movie]) continue;
      rated[movie] = true;
      fmt::format_to(std::back_inserter(made.ratings), "{}::{}::{}::{}\n", id, movie + 1, given,
                     956703932 + 86400 * id + 60 * i);
    }
  }
  return made;
}

}  // namespace flotilla::data
