// flotilla/base/system_reason.h
//
// What the system says of a call that failed, and what to do about it.

#pragma once

#include <string>

namespace flotilla {

// "Permission denied"; where a disk is full, also what to do.
std::string system_reason(int error);

}  // namespace flotilla
