// flotilla/data/generate_ratings.h
//
// Ratings of films that Flotilla makes up, in the format of MovieLens' million, for machines
// without it. A rating follows from the film's quality, from how users of an age and a gender like
// its kinds, and from chance: the features explain about half of the variance.
//
// users.dat   := (id "::" ("M" | "F") "::" age "::" job "::" zip "\n")*
// movies.dat  := (id "::" title " (" year ")::" kind ("|" kind)* "\n")*
// ratings.dat := (user "::" movie "::" ("1".."5") "::" seconds "\n")*

#pragma once

#include <cstdint>
#include <string>

namespace flotilla::data {

struct RatingsOptions {
  int users = 600;
  int movies = 400;
  int per_user = 50;
  uint64_t seed = 1;
};

struct Ratings {
  std::string users = {};
  std::string movies = {};
  std::string ratings = {};
};

Ratings make_ratings(const RatingsOptions& options = {});

}  // namespace flotilla::data
