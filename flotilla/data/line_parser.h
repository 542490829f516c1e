// flotilla/data/line_parser.h
//
// What all parsers of lines share: cutting text into lines, counting lines and bytes, and saying
// what is wrong. A parser only reads one line.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flotilla/data/slots.h"

namespace flotilla::data {

// Why a line is no record.
struct Mismatch {
  const char* at = nullptr;  // within the line
  std::string slot = {};     // or the column; "" where none is meant
  std::string expected = {};
  std::string found = {};  // "" stands for what is there up to the next blank or delimiter
};

class LineParser : public RecordParser {
 public:
  const std::vector<SlotSpec>& specs() const override { return specs_; }
  void parse(std::string_view text, TextPosition& at, SlotBlock& out, BadRecords& bad) final;

 protected:
  explicit LineParser(std::vector<SlotSpec> specs) : specs_(std::move(specs)) {
    check_specs(specs_);
  }

  // Appends one record, or calls mismatch() and returns false; then what was appended is undone.
  // The line has neither newline nor carriage return at its end and is not blank.
  virtual bool parse_line(const char* begin, const char* end, SlotBlock& out) = 0;
  // Line 1 of a file. True: it is no record (but a header). May throw.
  virtual bool first_line(std::string_view, const TextPosition&) { return false; }

  bool mismatch(const char* at, std::string slot, std::string expected, std::string found = "") {
    mismatch_ = {at, std::move(slot), std::move(expected), std::move(found)};
    return false;
  }
  // Ends the value that mismatch() quotes, besides blanks.
  char delimiter_ = ' ';

 private:
  Error error(std::string_view line, const TextPosition& at) const;

  const std::vector<SlotSpec> specs_;
  Mismatch mismatch_;
};

// `text` as it can stand in a message: in quotes, cut after 40 characters, with \x1b for what does
// not print.
std::string in_quotes(std::string_view text);

}  // namespace flotilla::data
