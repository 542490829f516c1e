// flotilla/base/utf8.h
//
// Text of others, which may be anything: cut inside a character, in another encoding, not text.

#pragma once

#include <string>
#include <string_view>

namespace flotilla {

// The text with U+FFFD in place of each byte that is not part of a UTF-8 character.
std::string valid_utf8(std::string_view text);

}  // namespace flotilla
