// flotilla/data/generate_clicks.h
//
// A click log in the format of Criteo's, for machines without it: what was shown, and whether it
// was clicked. Whether it is depends on hidden weights of the categories and of the counters, so
// that a model learns something: a quarter of the lines are clicks, logistic regression on 20,000
// lines reaches an AUC of 0.78.
//
// line     := label ("\t" integer?){13} ("\t" category?){26} "\n"
// label    := "0" | "1"
// category := eight hexadecimal digits

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "flotilla/data/split.h"

namespace flotilla::data {

inline constexpr int kClickIntegers = 13;
inline constexpr int kClickCategories = 26;

struct ClicksOptions {
  int64_t train = 40000;  // lines
  int64_t test = 10000;
  int train_files = 4;
  uint64_t seed = 1;
};

// Lines [first, first + count) of a split. Line i depends on (seed, split, i) alone; the hidden
// weights depend on the seed, so train and test go together.
std::string make_clicks(uint64_t seed, Split split, int64_t first, int64_t count);

// Writes train/part-0, train/part-1, ... and test/part-0 into `directory`, which is made if it is
// missing, and returns their paths.
std::vector<std::filesystem::path> write_clicks(const std::filesystem::path& directory,
                                                const ClicksOptions& options = {});

}  // namespace flotilla::data
