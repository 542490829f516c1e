// flotilla/testing/in_place.h
//
// How tests run optimizer operators: their state is changed where it lies.

#pragma once

#include <initializer_list>
#include <string>

#include "flotilla/testing/run_op.h"

namespace flotilla {

// Every one of `slots` is changed in place by slot <name>Out.
inline OpOptions in_place(std::initializer_list<std::string> slots) {
  OpOptions options;
  for (const std::string& slot : slots) options.in_place[slot] = slot + "Out";
  return options;
}

}  // namespace flotilla
