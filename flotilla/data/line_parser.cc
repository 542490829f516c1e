#include "flotilla/data/line_parser.h"

#include <algorithm>
#include <cstring>

namespace flotilla::data {
namespace {

bool is_blank(std::string_view line) {
  return std::all_of(line.begin(), line.end(), [](char c) { return c == ' ' || c == '\t'; });
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr size_t kMost = 40;
  std::string out = "\"";
  for (const char c : text.substr(0, kMost)) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (' ' <= c && c <= '~') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out + (text.size() > kMost ? "...\"" : "\"");
}

Error LineParser::error(std::string_view line, const TextPosition& at) const {
  const Mismatch& m = mismatch_;
  const auto column = static_cast<size_t>(m.at - line.data());
  std::string found = m.found;
  if (found.empty()) {
    const std::string_view rest = line.substr(column);
    const char ends[] = {delimiter_, ' ', '\t'};
    const std::string_view token = rest.substr(0, rest.find_first_of(ends, 0, sizeof ends));
    found = rest.empty() ? "the end of the line" : token.empty() ? "nothing" : in_quotes(token);
  }
  const std::string slot = m.slot.empty() ? "" : fmt::format("{}: ", m.slot);
  return Error(ErrorKind::kInvalidArgument,
               fmt::format("{}: line {}, byte {}: {}expected {}, found {}", at.file, at.line,
                           at.byte + static_cast<int64_t>(column), slot, m.expected, found));
}

void LineParser::parse(std::string_view text, TextPosition& at, SlotBlock& out, BadRecords& bad) {
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end) {
    const void* newline = std::memchr(p, '\n', static_cast<size_t>(end - p));
    const char* const next = newline == nullptr ? end : static_cast<const char*>(newline) + 1;
    const char* stop = newline == nullptr ? end : next - 1;
    if (stop != p && stop[-1] == '\r') --stop;
    const std::string_view line(p, static_cast<size_t>(stop - p));
    const bool first = at.line == 1 && first_line(line, at);
    // Only a line that begins with a blank can be blank.
    const bool skip = first || line.empty() || (line[0] <= ' ' && is_blank(line));
    if (!skip) {
      const int64_t before = out.records();
      if (!parse_line(p, stop, out)) [[unlikely]] {
        out.truncate(before);
        bad.add(error(line, at));
      }
    }
    ++at.line;
    at.byte += next - p;
    p = next;
  }
}

}  // namespace flotilla::data
