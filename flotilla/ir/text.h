// flotilla/ir/text.h
//
// The text form of programs. print and parse are inverse: parse(print(p)) prints the same text. The
// grammar stands in parse.cc, with examples in docs/program_text.md.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "flotilla/ir/program.h"

namespace flotilla {

// kBrief is for people: it leaves out what every op carries (op_callstack, op_role_var,
// op_namescope, op_device, and op_role where it is 0), slots without variables, and op versions.
enum class Detail { kBrief, kFull };

// `softmax(X=x) -> y {axis=-1}`: one line.
std::string print(const Op& op, Detail detail = Detail::kBrief);
// `var x f32[-1, 784] data`: one line.
std::string print(const Var& var);
std::string print(const Program& program, Detail detail = Detail::kFull);

// Refuses with line and column.
std::shared_ptr<Program> parse(std::string_view text);

}  // namespace flotilla
