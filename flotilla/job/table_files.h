// flotilla/job/table_files.h
//
// Where servers keep their tables, and where checkpoints have them.

#pragma once

#include <cstdint>
#include <filesystem>

namespace flotilla::job {

// The folder of one of the servers that share `root`; empty where `root` is. Refuses a root that
// another number of servers has written.
std::filesystem::path folder_of_server(const std::filesystem::path& root, int64_t server,
                                       int64_t servers);

// In what fleet.save_persistables() wrote, the part that servers did.
inline constexpr char kTablesFolder[] = "__tables__";

// That part of a checkpoint, or itself where it has none. Completes a save that was interrupted.
std::filesystem::path tables_in(const std::filesystem::path& checkpoint);

}  // namespace flotilla::job
