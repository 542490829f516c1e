// flotilla/comm/threads/threads.h
//
// Ranks as threads of one process: for tests, and for programs that run several replicas.

#pragma once

#include <memory>
#include <vector>

#include "flotilla/comm/world.h"

namespace flotilla::comm {

// The worlds of `size` ranks; each belongs to one thread. A world that is destroyed is gone for the
// others: their waits for it end.
std::vector<std::unique_ptr<World>> make_threads(int size);

}  // namespace flotilla::comm
