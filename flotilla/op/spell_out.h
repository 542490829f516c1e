// flotilla/op/spell_out.h
//
// Real Paddle wants to see some things in a program that are not needed here: a program that
// travels there must spell them out.

#pragma once

#include <memory>

#include "flotilla/ir/program.h"

namespace flotilla {

// A copy in which every gradient op carries all attributes of its definition, every op its empty
// lists, and gradient ops the slots that one release or another of Paddle asks for. An op that
// means one thing in 1.x and another in 2.x tells which (take_in.h).
std::shared_ptr<Program> spell_out(const Program& program);

}  // namespace flotilla
