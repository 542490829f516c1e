// flotilla/kernel/in_order.h
//
// A kernel of several parts, as the gradients of several inputs are.

#pragma once

#include <utility>
#include <vector>

#include "flotilla/op/op_def.h"

namespace flotilla {

// Runs all of them in this order; those that are empty are left out.
inline Step in_order(std::vector<Step> steps) {
  std::erase_if(steps, [](const Step& step) { return !step; });
  if (steps.size() == 1) return std::move(steps.front());
  return [steps = std::move(steps)] {
    for (const Step& step : steps) step();
  };
}

}  // namespace flotilla
