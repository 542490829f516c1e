// flotilla/passes/strategy_check.h
//
// Refusals of settings that cannot be meant, for the passes that read them.

#pragma once

#include <cstdint>
#include <string_view>

#include "flotilla/passes/strategy.h"

namespace flotilla::passes {

void check_at_least_one(std::string_view name, int64_t value);
// Two flags of which one alone may be on.
void refuse_both(const DistributedStrategy& strategy, std::string_view a, std::string_view b);
// A flag that cannot be on while gradients are averaged over samples: both would count what ranks
// without data compute.
void refuse_with_samples(const DistributedStrategy& strategy, std::string_view name);

}  // namespace flotilla::passes
