// flotilla/ir/quote.h
//
// Names and texts as they stand in the text form of a program.
//
// name   := bare | quoted
// bare   := (letter | '_' | '@') (letter | digit | '_' | '@' | '.' | '/')*
// quoted := '"' (byte | '\' escape)* '"'          no newline inside
// escape := '"' | '\' | 'n' | 't' | 'r' | 'x' hex hex

#pragma once

#include <string>
#include <string_view>

namespace flotilla {

bool starts_name(char c);
bool continues_name(char c);

// `text` between quotes. Control characters, and bytes that are no UTF-8, become escapes.
std::string in_quotes(std::string_view text);

// `name` as it is where it can stand so, quoted otherwise.
std::string bare_or_quoted(std::string_view name);

}  // namespace flotilla
