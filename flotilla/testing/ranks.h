// flotilla/testing/ranks.h
//
// Ranks as threads: what a job of several processes does, in one.

#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "flotilla/comm/world.h"

namespace flotilla::testing {

// Calls `body(world)` in a thread for each world and waits for all. Throws what the lowest rank
// threw; a rank that throws aborts its world first, so that the others do not wait for it.
void run_worlds(std::vector<std::unique_ptr<comm::World>> worlds,
                const std::function<void(comm::World&)>& body);

// The same on `size` ranks that share this process' memory.
void run_ranks(int size, const std::function<void(comm::World&)>& body);

// Ranks that are threads, but know nothing of each other save through a store and the kernel: what
// processes do. host(rank) pretends several hosts; none: all are on this one.
std::vector<std::unique_ptr<comm::World>> process_worlds(
    int size, const std::function<int(int rank)>& host = nullptr);

}  // namespace flotilla::testing
