#include "flotilla/ps/store_files.h"

#include <algorithm>
#include <charconv>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/ps/bytes.h"

namespace flotilla::ps {
namespace {

constexpr std::string_view kSnapshot = "snapshot.";

std::filesystem::path snapshot_path(const std::filesystem::path& directory, uint64_t number) {
  return directory / fmt::format("{}{:010}", kSnapshot, number);
}

// The numbers of the snapshots in a directory, newest first.
std::vector<uint64_t> snapshots_in(const std::filesystem::path& directory) {
  std::vector<uint64_t> numbers;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kSnapshot) || is_unfinished(entry.path())) continue;
    uint64_t number = 0;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + kSnapshot.size(), end, number);
    if (error == std::errc() && stop == end) numbers.push_back(number);
  }
  std::sort(numbers.rbegin(), numbers.rend());
  return numbers;
}

// What was half written, and rows on disk of tables that are gone.
void remove_leftovers(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const bool cold = entry.path().filename().native().starts_with(kCold);
    if (cold || is_unfinished(entry.path())) found.push_back(entry.path());
  }
  for (const auto& path : found) std::filesystem::remove_all(path);
}

// ---- Writing ------------------------------------------------------------------------------------

// All shards of a table, one of every owner at a time. The owners copy theirs between two pushes;
// here they are written while the owners go on.
void write_sparse(Contents& contents, SnapshotWriter& writer, StoreTable& table, SaveMode mode) {
  std::vector<std::vector<int>> shards(static_cast<size_t>(contents.options.owners));
  for (int shard = 0; shard < kShards; ++shard) {
    if (!contents.options.share.holds(shard)) continue;
    shards[static_cast<size_t>(table.sparse->owner_of(shard))].push_back(shard);
  }
  const size_t rounds =
      std::max_element(shards.begin(), shards.end(), [](const auto& a, const auto& b) {
        return a.size() < b.size();
      })->size();
  std::vector<std::vector<std::byte>> bytes(shards.size());
  std::vector<int64_t> rows(shards.size());
  for (size_t round = 0; round < rounds; ++round) {
    ShardPool::Job job([&](int owner) {
      const auto i = static_cast<size_t>(owner);
      if (round >= shards[i].size()) return;
      rows[i] = table.sparse->part(owner).save(shards[i][round], bytes[i], mode);
    });
    uint64_t record = 0;
    contents.journal.in_order([&] {
      record = contents.journal.records();
      contents.pool.submit(job);
    });
    job.wait();
    for (size_t i = 0; i < shards.size(); ++i) {
      if (round >= shards[i].size()) continue;
      writer.add_piece({.shard = shards[i][round], .record = record, .rows = rows[i]}, bytes[i]);
    }
  }
}

void write_dense(Contents& contents, SnapshotWriter& writer, StoreTable& table) {
  std::vector<std::byte> bytes;
  ShardPool::Job job([&](int owner) {
    if (owner == table.dense->owner(contents.options.owners)) bytes = table.dense->save();
  });
  uint64_t record = 0;
  contents.journal.in_order([&] {
    record = contents.journal.records();
    contents.pool.submit(job);
  });
  job.wait();
  writer.add_piece({.slice = table.dense->slice(), .record = record, .rows = 1}, bytes);
}

// `own`: for this server to go on with, not for others.
void write_snapshot(Contents& contents, const std::filesystem::path& directory, bool own,
                    const SaveOptions& what, const Tables& instead) {
  Manifest head = {.share = contents.options.share, .delta = what.mode == SaveMode::kDelta};
  std::vector<std::pair<StoreTable*, Powers>> tables;
  contents.journal.in_order([&] {
    head.record = contents.journal.records();
    if (own) {
      head.values = contents.values;
      for (const auto& [worker, sequence] : contents.journal.last_pushes()) {
        head.last_pushes.push_back({worker, sequence});
      }
      if (contents.journal.log()) contents.journal.log()->rotate();
    }
    for (StoreTable* table : contents.tables.all()) {
      if (what.covers(table->spec.id) && !instead.contains(table->spec.id)) {
        tables.emplace_back(table, table->powers);
      }
    }
    for (const auto& [id, table] : instead) tables.emplace_back(table.get(), table->powers);
  });
  SnapshotWriter writer(directory, head);
  for (const auto& [table, powers] : tables) {
    writer.begin_table(table->spec, powers);
    table->sparse ? write_sparse(contents, writer, *table, what.mode)
                  : write_dense(contents, writer, *table);
  }
  writer.finish();
  if (own) contents.snapshot_record = head.record;
}

// ---- Reading ------------------------------------------------------------------------------------

bool load_snapshot(Contents& contents, const std::filesystem::path& directory) {
  try {
    const Manifest manifest = read_manifest(directory);
    require(manifest.share == contents.options.share,
            "{} belongs to server {} of {}, but this is server {} of {}", directory.string(),
            manifest.share.server, manifest.share.servers, contents.options.share.server,
            contents.options.share.servers);
    for (const TableManifest& table : manifest.tables) {
      StoreTable& made =
          contents.tables.add(std::make_unique<StoreTable>(table.spec, contents.options));
      made.powers = table.powers;
      load_pieces(contents, directory, table, made, LoadMode::kSnapshot);
    }
    for (const PushId& id : manifest.last_pushes) {
      contents.journal.last_pushes()[id.worker] = id.sequence;
    }
    // One from before ids were written was made of tables that had been trained.
    contents.values = manifest.values.value_or(Values{.used = true});
    contents.journal.set_records(manifest.record);
    contents.snapshot_record = manifest.record;
    return true;
  } catch (const Error& error) {
    log::warning("{} cannot be used, so the one before it is tried: {}", directory.string(),
                 error.what());
    contents.journal.last_pushes().clear();
    contents.values = {};
    contents.tables.clear();
    return false;
  }
}

void replay(Contents& contents, const Record& record) {
  contents.journal.set_records(record.number);
  if (record.kind == RecordKind::kTable) {
    const auto* text = reinterpret_cast<const char*>(record.body.data());
    const TableSpec spec = parse_table({text, record.body.size()});
    contents.tables.add(std::make_unique<StoreTable>(spec, contents.options));
    return;
  }
  if (record.kind == RecordKind::kShrink) {
    ByteReader from(record.body);
    StoreTable& table = contents.tables.sparse_at(from.get<uint32_t>(), "rows to shrink");
    Shrink rule;
    rule.max_unseen = from.get<uint32_t>();
    rule.min_score = from.get<float>();
    rule.decay = from.get<float>();
    table.sparse->shrink(contents.pool, rule, record.number);
    contents.values.as_loaded = false;
    return;
  }
  if (record.kind == RecordKind::kValues) {
    ByteReader from(record.body);
    contents.values.id = from.get<uint64_t>();
    const auto server = from.get<uint32_t>(), servers = from.get<uint32_t>();
    const Share share = {static_cast<int>(server), static_cast<int>(servers)};
    require(share == contents.options.share,
            "the log belongs to server {} of {}, but this is server {} of {}", server, servers,
            contents.options.share.server, contents.options.share.servers);
    return;
  }
  require(record.kind == RecordKind::kPush, "unknown record kind {}",
          static_cast<uint32_t>(record.kind));
  const Push push = decode_push(record.body);
  contents.tables.check(push);
  for (const PushId& id : push.ids) contents.journal.last_pushes()[id.worker] = id.sequence;
  for (const Change& change : push.changes) {
    StoreTable& table = contents.tables.at(change.table);
    const Effect effect = table.next_effect(change, record.number);
    contents.note_change(change.action);
    if (table.sparse) {
      table.sparse->push(contents.pool, change.keys, change.values, effect);
    } else {
      table.dense->push(change.values, effect);
    }
  }
}

// The log and the snapshots say what there is; the mark says what there was.
void check_mark(Contents& contents) {
  const std::filesystem::path path = contents.options.directory / "ready";
  const FoundMark found = read_ready_mark(contents.options.directory);
  const uint64_t record = found.mark ? found.mark->record : found.empty ? 1 : 0;
  require(record <= contents.journal.records(),
          "{} says that the tables had values at record {}, but the log and the snapshots beside "
          "it end at record {}: restore the missing files, or start with an empty folder, from a "
          "checkpoint if there is one",
          path.string(), record, contents.journal.records());
  if (contents.values.id == 0 && found.empty) {
    contents.values.id = kUnnamedValues;
    return;
  }
  require(contents.values.id != 0 || !found.exists,
          "{} says that the tables have values, but the log and the snapshots beside it do not: "
          "remove it if it is from another folder",
          path.string());
  const ReadyMark expected = {contents.options.share, contents.values.id, record};
  if (contents.values.id == 0 || found.mark == expected) return;
  if (found.exists) {
    log::warning(
        "{} does not match the tables beside it, which are complete, so it is written again",
        path.string());
  }
  write_ready_mark(contents.options.directory,
                   {contents.options.share, contents.values.id, contents.journal.records()});
}

}  // namespace

void load_pieces(const Contents& contents, const std::filesystem::path& directory,
                 const TableManifest& from, StoreTable& table, LoadMode mode) {
  for (const Piece& piece : from.pieces) {
    const uint64_t number = mode == LoadMode::kSnapshot ? piece.record : contents.journal.records();
    if (table.dense) {
      table.dense->load(read_piece(directory, from.spec, piece), piece.slice, number);
    } else if (piece.shard >= 0 && contents.options.share.holds(piece.shard)) {
      table.sparse->part(table.sparse->owner_of(piece.shard))
          .load(piece.shard, read_piece(directory, from.spec, piece), number, mode);
    }
  }
}

bool recover(Contents& contents) {
  remove_leftovers(contents.options.directory);
  for (const uint64_t number : snapshots_in(contents.options.directory)) {
    if (load_snapshot(contents, snapshot_path(contents.options.directory, number))) break;
  }
  const uint64_t before = contents.journal.records();
  require(before == 0 || !contents.options.log || has_log(contents.options.directory),
          "{} has a snapshot up to record {}, but not the log of what came after it: restore the "
          "files log.*, or start with an empty folder, from a checkpoint if there is one",
          contents.options.directory.string(), before);
  contents.journal.set_records(
      replay_log(contents.options.directory, before, [&](const Record& record) {
        try {
          replay(contents, record);
        } catch (Error& error) {
          error.note("record", fmt::format("{} of the log in {}", record.number,
                                           contents.options.directory.string()));
          throw;
        }
      }));
  const bool recovered = !contents.tables.specs().empty();
  if (recovered) {
    log::info("tables in {}: {} records from a snapshot, {} from the log",
              contents.options.directory.string(), before, contents.journal.records() - before);
  }
  check_mark(contents);
  return recovered;
}

void write_next_snapshot(Contents& contents, const Tables& instead) {
  const std::vector<uint64_t> numbers = snapshots_in(contents.options.directory);
  const uint64_t number = numbers.empty() ? 1 : numbers.front() + 1;
  write_snapshot(contents, snapshot_path(contents.options.directory, number), true, {}, instead);
}

void remove_old_snapshots(Contents& contents, size_t keep) {
  const std::vector<uint64_t> numbers = snapshots_in(contents.options.directory);
  for (size_t i = keep; i < numbers.size(); ++i) {
    // Under a name that does not count, so that a kill leaves no half of it.
    const std::filesystem::path path = snapshot_path(contents.options.directory, numbers[i]);
    const std::filesystem::path doomed = path.string() + ".old.unfinished";
    std::filesystem::rename(path, doomed);
    std::filesystem::remove_all(doomed);
  }
  if (!contents.journal.log() || numbers.size() < keep) return;
  const std::filesystem::path oldest = snapshot_path(contents.options.directory, numbers[keep - 1]);
  contents.journal.log()->remove_up_to(read_manifest(oldest).record);
}

void write_checkpoint(Contents& contents, const std::filesystem::path& directory,
                      const SaveOptions& what) {
  std::filesystem::create_directories(directory);
  write_snapshot(contents, directory / part_name(contents.options.share), false, what, {});
}

}  // namespace flotilla::ps
