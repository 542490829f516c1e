// flotilla/update/rows.h
//
// Sparse gradients: some rows of a tall tensor, with row numbers that may repeat.

#pragma once

#include <cstdint>
#include <span>

namespace flotilla::update {

// Adds up the rows that have the same number, in the order in which they came, and sorts what
// remains by row number. Returns how many remain: `merged_rows` holds their numbers, `merged` their
// values. `order` is workspace. Costs n log n comparisons; allocates nothing.
// REQUIRES: values.size() == rows.size() * width; merged_rows and order as long as rows, merged as
// long as values.
int64_t merge_rows(std::span<const int64_t> rows, std::span<const float> values, int64_t width,
                   std::span<int64_t> merged_rows, std::span<float> merged,
                   std::span<int64_t> order);
int64_t merge_rows(std::span<const int64_t> rows, std::span<const double> values, int64_t width,
                   std::span<int64_t> merged_rows, std::span<double> merged,
                   std::span<int64_t> order);

}  // namespace flotilla::update
