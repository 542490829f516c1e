// flotilla/op/take_in.h
//
// Some ops mean one thing in Paddle 1.x and another in 2.x under the same name. What was written
// tells by its attributes which release wrote it, and keeps the meaning it had there.

#pragma once

#include <memory>

#include "flotilla/ir/program.h"

namespace flotilla {

// Takes a program as a file holds it; export_to_paddle() is the way back.
std::shared_ptr<Program> take_in(std::shared_ptr<Program> program);

}  // namespace flotilla
