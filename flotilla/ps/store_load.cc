// flotilla/ps/store_load.cc
//
// How a checkpoint becomes the contents of a store:
//
//   pushes wait ──► new tables are read ──► a snapshot with them ──► they take the place of the old
//                        │ fails: nothing has changed      │ is whole: from here a restart has them

#include <optional>
#include <utility>

#include "flotilla/base/crc32c.h"
#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/ps/store_table.h"

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

}  // namespace

void Store::for_each_saved(const std::filesystem::path& directory, uint32_t only,
                           const SeeSaved& see) const {
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
  require(found || only == kAllTables, "{} holds nothing of table {}", directory.string(), only);
}

// The table whose place what was saved takes; null: none.
Store::Table* Store::find_like(const TableSpec& saved) const {
  for (const TableSpec& there : tables()) {
    if (there.name != saved.name) {
      require(there.id != saved.id, "the tables {} and {} have the same number {}", there.name,
              saved.name, saved.id);
      continue;
    }
    const int64_t state = Rule(there).state_size(1), saved_state = Rule(saved).state_size(1);
    require(there.kind == saved.kind && there.width == saved.width && state == saved_state,
            "what was saved of \"{}\" has another form than \"{}\"", print(saved), print(there));
    return &table_of(there.id);
  }
  return nullptr;
}

void Store::check_checkpoint(const std::filesystem::path& directory, uint32_t only) const {
  for_each_saved(directory, only,
                 [&](const std::filesystem::path& part, const TableManifest& saved, LoadMode) {
                   find_like(saved.spec);
                   for (const Piece& piece : saved.pieces) {
                     if (piece.shard < 0 || options_.share.holds(piece.shard)) {
                       read_piece(part, saved.spec, piece);
                     }
                   }
                 });
}

// An empty table like the one that is there, or, for a delta, with the same rows. Dense tables come
// whole in either case.
std::unique_ptr<Store::Table> Store::make_next(Table& table, LoadMode mode) {
  auto made = std::make_unique<Table>(table.spec, options_, table.version + 1);
  if (mode != LoadMode::kDelta || !table.sparse) return made;
  pool_.run([&](int owner) {
    std::vector<std::byte> bytes;
    for (int shard = 0; shard < kShards; ++shard) {
      if (table.sparse->owner_of(shard) != owner) continue;
      table.sparse->part(owner).save(shard, bytes);
      made->sparse->part(owner).load(shard, bytes, records());
    }
  });
  return made;
}

void Store::put_in_place(Tables made) {
  for (auto& [id, next] : made) {
    const auto there = [&]() -> Table* {
      const MutexLock lock(tables_mutex_);
      const auto found = tables_.find(id);
      return found == tables_.end() ? nullptr : found->second.get();
    }();
    if (there == nullptr) {
      add_table(std::move(next));
      continue;
    }
    // Nobody but its owner holds a part; whatever it has to do comes before or after this.
    pool_.run([&](int owner) {
      if (there->sparse) {
        there->sparse->exchange(owner, *next->sparse);
      } else if (there->dense->owner(options_.owners) == owner) {
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

void Store::load(const std::filesystem::path& directory, uint32_t only) {
  const MutexLock creating(create_mutex_);
  const MutexLock lock(snapshot_mutex_);
  uint64_t id = 0;
  in_order([&] {
    invariant(!broken_, "a push that is in the log could not be applied; restart the server");
    Tables made;
    for_each_saved(
        directory, only,
        [&](const std::filesystem::path& part, const TableManifest& saved, LoadMode mode) {
          Table* there = find_like(saved.spec);
          std::unique_ptr<Table>& next = made[there == nullptr ? saved.spec.id : there->spec.id];
          if (!next) {
            next = there == nullptr ? std::make_unique<Table>(saved.spec, options_)
                                    : make_next(*there, mode);
          }
          next->powers = saved.powers;
          load_pieces(part, saved, *next, mode);
        });
    const Values before = values_;
    values_ = after_load(before, only == kAllTables ? id_of_checkpoint(directory) : 0);
    id = values_.id;
    try {
      if (!options_.directory.empty()) write_next_snapshot(made);
    } catch (...) {
      values_ = before;
      throw;
    }
    try {
      put_in_place(std::move(made));
    } catch (...) {
      broken_ = true;  // the snapshot has more than the memory
      throw;
    }
  });
  if (options_.directory.empty()) return;
  try {
    if (id != 0) write_ready_mark(options_.directory, {options_.share, id, snapshot_record_});
  } catch (const Error& error) {
    log::warning("{}; the next start does it", error.what());
  }
  // What came before it is another story: a restart must not go back there.
  remove_old_snapshots(1);
}

}  // namespace flotilla::ps
