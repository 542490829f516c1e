// python/src/alone.h
//
// A worker that trains a model of its own, although the job has several and no servers: nothing
// else would show it, since every one of them runs to its end.

#pragma once

#include "flotilla/ir/program.h"

namespace flotilla::python {

// Warns once in a process, and tells the launcher. REQUIRES: the lock of the interpreter
void warn_if_alone(const Program& program);

}  // namespace flotilla::python
