// flotilla/ps/store_load.h
//
// How a checkpoint becomes the contents of a store:
//
//   pushes wait ──► new tables are read ──► a snapshot with them ──► they take the place of the old
//                        │ fails: nothing has changed      │ is whole: from here a restart has them

#pragma once

#include <cstdint>
#include <filesystem>

#include "flotilla/ps/contents.h"

namespace flotilla::ps {

// `only`: a table, or kAllTables. Pushes wait meanwhile.
// REQUIRES: no table is created and no snapshot is written meanwhile
void load_checkpoint(Contents& contents, const std::filesystem::path& directory, uint32_t only);
// Refuses what that would refuse, and changes nothing.
void check_checkpoint(const Contents& contents, const std::filesystem::path& directory,
                      uint32_t only);

}  // namespace flotilla::ps
