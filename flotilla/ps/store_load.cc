#include "flotilla/ps/store_load.h"

#include <functional>
#include <optional>
#include <utility>

#include "flotilla/base/crc32c.h"
#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/ps/store_files.h"

namespace flotilla::ps {
namespace {

// How many servers wrote the checkpoint in `directory`.
int servers_of(const std::filesystem::path& directory) {
  std::optional<int> servers;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("server-0-of-") || is_unfinished(entry.path())) continue;
    const int count = read_manifest(entry.path()).share.servers;
    require(!servers, "{} holds the checkpoints of {} and of {} servers", directory.string(),
            servers.value_or(0), count);
    servers = count;
  }
  require(servers.has_value(), "{} holds no checkpoint: there is no server-0-of-<n> in it",
          directory.string());
  return *servers;
}

// The same for all servers that load it, and another one for another checkpoint.
uint64_t id_of_checkpoint(const std::filesystem::path& directory) {
  const int servers = servers_of(directory);
  uint32_t crc = 0;
  for (int server = 0; server < servers; ++server) {
    const std::string text = print(read_manifest(directory / part_name({server, servers})));
    crc = crc32c(crc, text.data(), text.size());
  }
  return uint64_t{1} << 32 | crc;
}

// `checkpoint`: 0 for one of its tables alone. A load into a running job keeps the job's id, which
// tells its servers from those that load the checkpoint later.
Values after_load(const Values& before, uint64_t checkpoint) {
  Values after = {.id = before.id, .used = true, .checkpoint = before.checkpoint};
  if (checkpoint == 0) return after;
  after.checkpoint = checkpoint;
  after.as_loaded = before == Values();
  if (after.as_loaded) after.id = checkpoint;
  return after;
}

// The folder of a part of a checkpoint, a table in it, and what becomes of the copy.
using SeeSaved = std::function<void(const std::filesystem::path& part, const TableManifest& saved,
                                    LoadMode mode)>;

void for_each_saved(const std::filesystem::path& directory, uint32_t only, const SeeSaved& see) {
  const int servers = servers_of(directory);
  bool found = false;
  for (int server = 0; server < servers; ++server) {
    const std::filesystem::path part = directory / part_name({server, servers});
    const Manifest manifest = read_manifest(part);
    const LoadMode mode = manifest.delta ? LoadMode::kDelta : LoadMode::kCheckpoint;
    for (const TableManifest& saved : manifest.tables) {
      if (only != kAllTables && saved.spec.id != only) continue;
      found = true;
      see(part, saved, mode);
    }
  }
  require(found || only == kAllTables, "{} does not contain table {}", directory.string(), only);
}

// The table whose place what was saved takes; null: none.
StoreTable* find_like(const TableSet& tables, const TableSpec& saved) {
  for (const TableSpec& there : tables.specs()) {
    if (there.name != saved.name) {
      require(there.id != saved.id, "the tables {} and {} have the same number {}", there.name,
              saved.name, saved.id);
      continue;
    }
    const int64_t state = Rule(there).state_size(1), saved_state = Rule(saved).state_size(1);
    require(there.kind == saved.kind && there.width == saved.width && state == saved_state,
            "the saved table \"{}\" has a different form than \"{}\"", print(saved), print(there));
    return &tables.at(there.id);
  }
  return nullptr;
}

// An empty table like the one that is there, or, for a delta, with the same rows. Dense tables come
// whole in either case.
std::unique_ptr<StoreTable> make_next(Contents& contents, StoreTable& table, LoadMode mode) {
  auto made = std::make_unique<StoreTable>(table.spec, contents.options, table.version + 1);
  if (mode != LoadMode::kDelta || !table.sparse) return made;
  contents.pool.run([&](int owner) {
    std::vector<std::byte> bytes;
    for (int shard = 0; shard < kShards; ++shard) {
      if (table.sparse->owner_of(shard) != owner) continue;
      table.sparse->part(owner).save(shard, bytes);
      made->sparse->part(owner).load(shard, bytes, contents.journal.records());
    }
  });
  return made;
}

void put_in_place(Contents& contents, Tables made) {
  for (auto& [id, next] : made) {
    StoreTable* const there = contents.tables.find(id);
    if (there == nullptr) {
      contents.tables.add(std::move(next));
      continue;
    }
    // Nobody but its owner holds a part; whatever it has to do comes before or after this.
    contents.pool.run([&](int owner) {
      if (there->sparse) {
        there->sparse->exchange(owner, *next->sparse);
      } else if (there->dense->owner(contents.options.owners) == owner) {
        there->dense->take(*next->dense);
      }
    });
    there->powers = next->powers;
    there->version = next->version;
    std::swap(there->cold, next->cold);
    const std::filesystem::path old = next->cold;
    next = nullptr;
    if (!old.empty()) std::filesystem::remove_all(old);
  }
}

}  // namespace

void check_checkpoint(const Contents& contents, const std::filesystem::path& directory,
                      uint32_t only) {
  for_each_saved(directory, only,
                 [&](const std::filesystem::path& part, const TableManifest& saved, LoadMode) {
                   find_like(contents.tables, saved.spec);
                   for (const Piece& piece : saved.pieces) {
                     if (piece.shard < 0 || contents.options.share.holds(piece.shard)) {
                       read_piece(part, saved.spec, piece);
                     }
                   }
                 });
}

void load_checkpoint(Contents& contents, const std::filesystem::path& directory, uint32_t only) {
  uint64_t id = 0;
  contents.journal.in_order([&] {
    contents.journal.check_whole();
    Tables made;
    for_each_saved(
        directory, only,
        [&](const std::filesystem::path& part, const TableManifest& saved, LoadMode mode) {
          StoreTable* there = find_like(contents.tables, saved.spec);
          std::unique_ptr<StoreTable>& next =
              made[there == nullptr ? saved.spec.id : there->spec.id];
          if (!next) {
            next = there == nullptr ? std::make_unique<StoreTable>(saved.spec, contents.options)
                                    : make_next(contents, *there, mode);
          }
          next->powers = saved.powers;
          load_pieces(contents, part, saved, *next, mode);
        });
    const Values before = contents.values;
    contents.values = after_load(before, only == kAllTables ? id_of_checkpoint(directory) : 0);
    id = contents.values.id;
    try {
      if (!contents.options.directory.empty()) write_next_snapshot(contents, made);
    } catch (...) {
      contents.values = before;
      throw;
    }
    try {
      put_in_place(contents, std::move(made));
    } catch (...) {
      contents.journal.set_broken();  // the snapshot has more than the memory
      throw;
    }
  });
  if (contents.options.directory.empty()) return;
  try {
    if (id != 0) {
      write_ready_mark(contents.options.directory,
                       {contents.options.share, id, contents.snapshot_record});
    }
  } catch (const Error& error) {
    log::warning("{}; the next start will do it", error.what());
  }
  // What came before it is another story: a restart must not go back there.
  remove_old_snapshots(contents, 1);
}

}  // namespace flotilla::ps
