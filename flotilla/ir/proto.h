// flotilla/ir/proto.h
//
// The wire format of Paddle's framework.proto: programs that real Paddle writes are read here, and
// the other way round.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "flotilla/ir/program.h"

namespace flotilla {

std::string serialize(const Program& program);

// Refuses bytes that are no program, and programs whose blocks, variables or attributes do not fit
// together, naming the place. Attributes of unknown ops are kept as they are.
std::shared_ptr<Program> deserialize(std::string_view bytes);

}  // namespace flotilla
