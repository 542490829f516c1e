// flotilla/ps/store_files.h
//
// The directory of a store: how its contents come back from there, and get there.

#pragma once

#include <cstddef>
#include <filesystem>

#include "flotilla/ps/contents.h"
#include "flotilla/ps/snapshot.h"

namespace flotilla::ps {

// Loads the newest good snapshot and does again what the log has after it. Whether there were
// tables; they may be without values yet. Refuses a directory of another server, or one of which
// files are missing.
// REQUIRES: nobody else uses the contents
bool recover(Contents& contents);

// ---- One of these at a time, and no load meanwhile; pushes and pulls go on

// With the tables of `instead` in the place of those of the same numbers.
void write_next_snapshot(Contents& contents, const Tables& instead = {});
// Keeps the newest ones, and the log after the oldest that stays.
void remove_old_snapshots(Contents& contents, size_t keep);
// Writes this server's part of a checkpoint.
void write_checkpoint(Contents& contents, const std::filesystem::path& directory,
                      const SaveOptions& what);

// Pieces of a snapshot keep their record numbers. Those of a checkpoint belong to another log: they
// count as they are now.
void load_pieces(const Contents& contents, const std::filesystem::path& directory,
                 const TableManifest& from, StoreTable& table, LoadMode mode);

}  // namespace flotilla::ps
