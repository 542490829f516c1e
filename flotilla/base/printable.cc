#include "flotilla/base/printable.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace flotilla {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: the text does not begin with UTF-8
};

Character first_of(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xf0 && lead < 0xf5   ? 4
                       : lead >= 0xe0 && lead < 0xf0 ? 3
                       : lead >= 0xc2 && lead < 0xe0 ? 2
                                                     : 0;
  if (bytes == 0 || text.size() < bytes) return {};
  uint32_t code = lead & (0x7f >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  // Longer than needed, half of a pair, or beyond the last.
  const bool wrong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000) ||
                     (code >= 0xd800 && code < 0xe000) || code > 0x10ffff;
  return wrong ? Character() : Character{code, bytes};
}

// Marks of the direction of writing, and ends of lines that are no newlines.
bool misleads(uint32_t code) {
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
         (code >= 0x200e && code <= 0x200f) || code == 0x2028 || code == 0x2029;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Character next = first_of(text);
    const size_t bytes = next.bytes == 0 ? 1 : next.bytes;
    const bool control = next.code < 0x20 || (next.code >= 0x7f && next.code < 0xa0);
    if (next.bytes == 0) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (control) {
      shown += fmt::format("\\x{:02x}", next.code);
    } else if (misleads(next.code)) {
      shown += fmt::format("\\u{:04x}", next.code);
    } else {
      shown += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return shown;
}

}  // namespace flotilla
