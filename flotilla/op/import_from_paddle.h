// flotilla/op/import_from_paddle.h
//
// Some ops mean one thing in Paddle 1.x and another in 2.x under the same name. What was written
// tells by its attributes which release wrote it, and keeps the meaning it had there.

#pragma once

#include <memory>

#include "flotilla/ir/program.h"

namespace flotilla {

// Turns a program as a file holds it into one as it is built here; undoes export_to_paddle().
std::shared_ptr<Program> import_from_paddle(std::shared_ptr<Program> program);

}  // namespace flotilla
