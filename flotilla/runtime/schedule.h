// flotilla/runtime/schedule.h
//
// What the processes that run one program together compare before its first run: ranks that
// disagree would wait for each other for ever, or add up what does not belong together.

#pragma once

#include <string>
#include <vector>

#include "flotilla/comm/world.h"
#include "flotilla/plan/plan.h"

namespace flotilla {

// The collective ops of a program, those with a ring_id, in order: a line for each variable that
// they exchange.
std::vector<std::string> collective_schedule(const Program& program);

// All ops, a line each, but for those that are meant to differ between ranks.
std::vector<std::string> ops_to_compare(const Program& program);

// In which layouts variables are exchanged: in `mine` where all ranks have the same, plain where
// they differ, as they do on CPUs of different kinds. All ranks call it.
ExchangeLayouts agree_on_layouts(comm::World& world, const ExchangeLayouts& mine);

}  // namespace flotilla
