#include "flotilla/base/printable.h"

#include <fmt/format.h>

#include <cstdint>

#include "flotilla/base/utf8.h"

namespace flotilla {
namespace {

// Marks of the direction of writing, and ends of lines that are no newlines.
bool misleads(uint32_t code) {
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
         (code >= 0x200e && code <= 0x200f) || code == 0x2028 || code == 0x2029;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Utf8Character next = first_character(text);
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
