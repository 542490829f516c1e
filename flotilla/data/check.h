// flotilla/data/check.h
//
// Whether files hold what a training would read, found out without training.

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/data/criteo.h"
#include "flotilla/data/csv.h"
#include "flotilla/data/slots.h"

namespace flotilla::data {

struct CheckOptions {
  // "idx", "image", "multi_slot", "criteo" or "csv"; empty: seen from the first bytes.
  std::string format = {};

  // What the records must hold. Empty: as many slots or columns as the first record has.
  std::vector<SlotSpec> slots = {};

  CsvOptions csv = {};

  // A command between the file and the parser; see text_source.h.
  std::string pipe_command = {};

  // More problems than these are counted, not kept.
  int64_t max_problems = 20;
};

struct CheckReport {
  // "Criteo click log", "IDX images of 28 x 28", ...
  std::string kind = {};
  int64_t records = 0;  // good ones
  int64_t problem_count = 0;
  // One sentence each, with file, line and byte.
  std::vector<std::string> problems = {};
};

// Reads all of `file`. Throws only where the options contradict each other; what is wrong with the
// file is in the report.
CheckReport check_file(const std::filesystem::path& file, const CheckOptions& options = {});

// "dense:f32:13,C1:i64:seq,label:i64": names with dtype and extents ("3x4"; 1 where left out), or
// "seq" for a sequence of single values.
std::vector<SlotSpec> parse_slots(std::string_view text);

}  // namespace flotilla::data
