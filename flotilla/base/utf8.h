// flotilla/base/utf8.h
//
// Text of others, which may be anything: cut inside a character, in another encoding, not text.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace flotilla {

struct Utf8Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: there is none
};

// The character at the beginning of `text`. REQUIRES: text is not empty
Utf8Character first_character(std::string_view text);

// The text with U+FFFD in place of each byte that is not part of a UTF-8 character.
std::string valid_utf8(std::string_view text);

}  // namespace flotilla
