#include "flotilla/base/utf8.h"

#include <cstdint>

namespace flotilla {
namespace {

// How many bytes the character at the beginning of `text` has; 0: there is none.
size_t character_at(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Longer than needed, a half of a surrogate pair, or past the last code point.
  const uint8_t second = byte(1);
  const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                     (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return wrong ? 0 : size;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string made;
  made.reserve(text.size());
  while (!text.empty()) {
    const size_t size = character_at(text);
    made += size == 0 ? "\xEF\xBF\xBD" : text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return made;
}

}  // namespace flotilla
