// flotilla/plan/memory.h
//
// Liveness and addresses: which nodes are needed, from when to when each value lives, which values
// share memory, and where everything lies in the arena of its
// device.

#pragma once

#include "flotilla/plan/draft.h"

namespace flotilla::plan {

struct MemoryReport {
  int64_t arena_bytes = 0;
  int64_t device_bytes = 0;  // of the arena on the device
  int64_t no_reuse_bytes = 0;
  int64_t exchanged_bytes = 0;
};

// Marks the nodes that a fetch, a persistable variable or a side effect needs, and sets the offsets
// of arena values and workspaces, and of what is exchanged. Deterministic. Cost: O(n^2) in the
// number of values. `guarded`: nothing that is not the same value lies where another ever lay, and
// between two lie kGuardBytes.
inline constexpr int64_t kGuardBytes = 64;
MemoryReport assign_memory(Draft& draft, bool guarded = false);

}  // namespace flotilla::plan
