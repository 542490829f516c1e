// flotilla/op/spell_out.h
//
// Real Paddle has no defaults for the attributes of gradient ops: a program that travels there must
// spell them out.

#pragma once

#include <memory>

#include "flotilla/ir/program.h"

namespace flotilla {

// A copy in which every gradient op carries all attributes of its definition.
std::shared_ptr<Program> spell_out_attrs(const Program& program);

}  // namespace flotilla
