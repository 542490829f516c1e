// flotilla/data/generate_housing.h
//
// A table in the shape of UCI's housing data, for machines without it: 13 columns that describe a
// district, then the median price of its houses, which follows from them up to noise. Ranges are
// those of the real table, values are not.
//
// A line fitted to the columns explains about three quarters of the variance of the price.

#pragma once

#include <cstdint>
#include <string>

namespace flotilla::data {

inline constexpr int kHousingColumns = 14;  // the price is the last
inline constexpr int64_t kHousingRows = 506;

// The text of housing.data: a row to a line, numbers in columns. Row i depends on (seed, i) alone.
std::string make_housing(uint64_t seed, int64_t rows = kHousingRows);

}  // namespace flotilla::data
