// flotilla/base/printable.h
//
// Text of somebody else that is shown on a terminal: a name of another user's process, an answer
// from a port, a line of another host. Escape sequences in it would move the cursor, change the
// title or hide what was printed before.

#pragma once

#include <string>
#include <string_view>

namespace flotilla {

// The text with each control character, each mark that reverses the direction of writing and each
// byte that is not UTF-8 written as \x1b or \u202e. Newlines and tabs are control characters, too.
std::string printable(std::string_view text);

}  // namespace flotilla
