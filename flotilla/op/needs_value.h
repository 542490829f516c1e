// flotilla/op/needs_value.h
//
// What `infer` throws where a size depends on the elements of an input that are not known yet. The
// planner then leaves the op to the run, when they are.

#pragma once

#include "flotilla/base/error.h"

namespace flotilla {

class NeedsValue : public Error {
 public:
  NeedsValue(std::string_view slot, std::string_view op)
      : Error(ErrorKind::kInvalidArgument,
              fmt::format("{} of {} must be known when the plan is made, but is computed from data",
                          slot, op)) {}
};

}  // namespace flotilla
