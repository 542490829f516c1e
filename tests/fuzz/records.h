// tests/fuzz/records.h
//
// What holds for every parser of records, whatever the text.

#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "flotilla/data/slots.h"

namespace flotilla::data {

inline SlotBlock parse_all(RecordParser& parser, std::string_view text, int64_t& bad_count) {
  SlotBlock block(parser.specs());
  TextPosition at = {.file = "f"};
  BadRecords bad(std::numeric_limits<int64_t>::max());
  parser.parse(text, at, block, bad);
  if (at.byte != static_cast<int64_t>(text.size())) __builtin_trap();
  bad_count = bad.count();
  return block;
}

// The same lines, a few at a time, as a reader gives them.
inline SlotBlock parse_pieces(RecordParser& parser, std::string_view text, size_t piece) {
  SlotBlock block(parser.specs());
  TextPosition at = {.file = "f"};
  BadRecords bad(std::numeric_limits<int64_t>::max());
  while (!text.empty()) {
    const size_t newline = text.find('\n', std::min(piece, text.size() - 1));
    const size_t end = newline == text.npos ? text.size() : newline + 1;
    parser.parse(text.substr(0, end), at, block, bad);
    text.remove_prefix(end);
  }
  return block;
}

// Bit for bit, so that nan is equal to itself.
template <typename T>
bool same_values(const SlotColumn& a, const SlotColumn& b) {
  const std::vector<T>&x = a.values<T>(), &y = b.values<T>();
  const size_t bytes = x.size() * sizeof(T);
  return x.size() == y.size() && (bytes == 0 || std::memcmp(x.data(), y.data(), bytes) == 0);
}

inline bool same(const SlotBlock& a, const SlotBlock& b) {
  if (a.records() != b.records() || a.slots() != b.slots()) return false;
  for (int64_t s = 0; s < a.slots(); ++s) {
    const SlotColumn &x = a.column(s), &y = b.column(s);
    if (x.records() != a.records() || y.records() != a.records()) return false;
    for (int64_t r = 0; r <= a.records(); ++r) {
      if (x.begin(r) != y.begin(r)) return false;
    }
    if (x.dtype() == f32 ? !same_values<float>(x, y) : !same_values<int64_t>(x, y)) return false;
  }
  return true;
}

// Parsing is the same whole and in pieces; batches can be made of what it found; a text with a bad
// record is refused where none is allowed, and only then.
inline SlotBlock check_parser(RecordParser& parser, std::string_view text) {
  int64_t bad_count = 0;
  const SlotBlock block = parse_all(parser, text, bad_count);
  if (!same(block, parse_pieces(parser, text, 7))) __builtin_trap();
  std::vector<int64_t> records;
  for (int64_t r = block.records(); r > 0; --r) records.push_back(r - 1);
  to_batch(block, records, parser.specs());
  bool refused = false;
  try {
    SlotBlock strict(parser.specs());
    TextPosition at = {.file = "f"};
    BadRecords none;
    parser.parse(text, at, strict, none);
  } catch (const Error&) {
    refused = true;
  }
  if (refused != (bad_count > 0)) __builtin_trap();
  return block;
}

}  // namespace flotilla::data
