// python/src/python_caller.h
//
// This Python process, as the programs that it runs see it.

#pragma once

#include "flotilla/kernel/caller.h"

namespace flotilla::python {

Caller& python_caller();

}  // namespace flotilla::python
