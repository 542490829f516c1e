// flotilla/ir/text.h
//
// The text form of programs. print and parse are inverse: parse(print(p)) prints the same text.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "flotilla/ir/program.h"

namespace flotilla {

// `#3 softmax(X=[x]) -> Out=[y] {axis=-1}` without the number: one line. Attributes that every op
// carries (op_callstack, op_role_var, op_namescope, op_device) are left out of error messages.
std::string print(const Op& op);
std::string print(const Var& var);
std::string print(const Program& program);

// Refuses with line and column.
std::shared_ptr<Program> parse(std::string_view text);

}  // namespace flotilla
