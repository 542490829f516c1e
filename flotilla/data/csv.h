// flotilla/data/csv.h
//
// Tables of numbers as text.
//
//   file   := [header newline] (record newline)*
//   record := value (delimiter value)*              as many in each record; a value may stand in
//                                                   quotes: "1.5"; blanks around it are dropped

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "flotilla/data/slots.h"

namespace flotilla::data {

struct CsvOptions {
  // ' ' stands for any number of blanks and tabs.
  char delimiter = ',';

  // The first line of each file names the columns.
  bool header = false;

  // The columns of each slot: names from the header, or numbers from 0 on; "3" and "4:13" (4 to 12)
  // both work. Empty: with a header, the column that has the slot's name (a slot of width n > 1
  // takes name_0 to name_<n-1>, or name0 on); without one, the slots take the columns from left to
  // right, each as many as its width.
  std::vector<std::vector<std::string>> columns = {};

  // What an empty value stands for in f32 slots; in i64 slots it is 0. Without `allow_empty` it is
  // an error.
  bool allow_empty = false;
  float empty_value = 0;
};

// REQUIRES: slots are dense, or sequences that take at least one column.
std::unique_ptr<RecordParser> csv_parser(std::vector<SlotSpec> specs, const CsvOptions& options);

}  // namespace flotilla::data
