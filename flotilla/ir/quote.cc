#include "flotilla/ir/quote.h"

#include <fmt/format.h>

#include <algorithm>

namespace flotilla {
namespace {

bool is_letter(char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z'); }
bool is_digit(char c) { return '0' <= c && c <= '9'; }

// How many bytes follow the first one of a UTF-8 sequence; -1 for a byte that starts none.
int continuation_bytes(unsigned char first) {
  if (first < 0x80) return 0;
  if (0xC2 <= first && first <= 0xDF) return 1;
  if (0xE0 <= first && first <= 0xEF) return 2;
  if (0xF0 <= first && first <= 0xF4) return 3;
  return -1;
}

// Good enough to decide what to show as it is; any bytes survive the round trip.
bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const int more = continuation_bytes(static_cast<unsigned char>(text[i]));
    if (more < 0 || i + static_cast<size_t>(more) >= text.size()) return false;
    for (int k = 0; k < more; ++k) {
      if ((static_cast<unsigned char>(text[++i]) & 0xC0) != 0x80) return false;
    }
  }
  return true;
}

}  // namespace

bool starts_name(char c) { return is_letter(c) || c == '_' || c == '@'; }

bool continues_name(char c) { return starts_name(c) || is_digit(c) || c == '.' || c == '/'; }

std::string in_quotes(std::string_view text) {
  const bool show_high_bytes = is_utf8(text);
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !show_high_bytes)) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out += '"';
}

std::string bare_or_quoted(std::string_view name) {
  const bool bare = !name.empty() && starts_name(name[0]) &&
                    std::all_of(name.begin(), name.end(), continues_name);
  return bare ? std::string(name) : in_quotes(name);
}

}  // namespace flotilla
