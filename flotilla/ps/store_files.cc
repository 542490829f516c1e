// flotilla/ps/store_files.cc
//
// How a store comes back: snapshots and recovery. store_load.cc has the way of checkpoints into it.

#include <algorithm>
#include <charconv>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/ps/bytes.h"
#include "flotilla/ps/store_table.h"

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

}  // namespace

// ---- Writing ------------------------------------------------------------------------------------

// All shards of a table, one of every owner at a time. The owners copy theirs between two pushes;
// here they are written while the owners go on.
void Store::write_sparse(SnapshotWriter& writer, Table& table, SaveMode mode) {
  std::vector<std::vector<int>> shards(static_cast<size_t>(options_.owners));
  for (int shard = 0; shard < kShards; ++shard) {
    if (!options_.share.holds(shard)) continue;
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
    in_order([&] {
      record = record_;
      pool_.submit(job);
    });
    job.wait();
    for (size_t i = 0; i < shards.size(); ++i) {
      if (round >= shards[i].size()) continue;
      writer.add_piece({.shard = shards[i][round], .record = record, .rows = rows[i]}, bytes[i]);
    }
  }
}

void Store::write_dense(SnapshotWriter& writer, Table& table) {
  std::vector<std::byte> bytes;
  ShardPool::Job job([&](int owner) {
    if (owner == table.dense->owner(options_.owners)) bytes = table.dense->save();
  });
  uint64_t record = 0;
  in_order([&] {
    record = record_;
    pool_.submit(job);
  });
  job.wait();
  writer.add_piece({.slice = table.dense->slice(), .record = record, .rows = 1}, bytes);
}

// `own`: for this server to go on with, not for others.
void Store::write_snapshot(const std::filesystem::path& directory, bool own,
                           const SaveOptions& what, const Tables& instead) {
  Manifest head = {.share = options_.share, .delta = what.mode == SaveMode::kDelta};
  std::vector<std::pair<Table*, Powers>> tables;
  in_order([&] {
    head.record = record_;
    if (own) {
      head.values = values_;
      for (const auto& [worker, sequence] : last_) head.last_pushes.push_back({worker, sequence});
      if (log_) log_->rotate();
    }
    const MutexLock lock(tables_mutex_);
    for (const auto& [id, table] : tables_) {
      if (what.covers(id) && !instead.contains(id)) {
        tables.emplace_back(table.get(), table->powers);
      }
    }
    for (const auto& [id, table] : instead) tables.emplace_back(table.get(), table->powers);
  });
  SnapshotWriter writer(directory, head);
  for (const auto& [table, powers] : tables) {
    writer.begin_table(table->spec, powers);
    table->sparse ? write_sparse(writer, *table, what.mode) : write_dense(writer, *table);
  }
  writer.finish();
  if (own) snapshot_record_ = head.record;
}

void Store::snapshot() {
  require(!options_.directory.empty(), "a store without a directory has no snapshots");
  const MutexLock lock(snapshot_mutex_);
  write_next_snapshot({});
  remove_old_snapshots(static_cast<size_t>(std::max(options_.keep_snapshots, 1)));
}

void Store::write_next_snapshot(const Tables& instead) {
  const std::vector<uint64_t> numbers = snapshots_in(options_.directory);
  const uint64_t number = numbers.empty() ? 1 : numbers.front() + 1;
  write_snapshot(snapshot_path(options_.directory, number), true, {}, instead);
}

void Store::remove_old_snapshots(size_t keep) {
  const std::vector<uint64_t> numbers = snapshots_in(options_.directory);
  for (size_t i = keep; i < numbers.size(); ++i) {
    // Under a name that does not count, so that a kill leaves no half of it.
    const std::filesystem::path path = snapshot_path(options_.directory, numbers[i]);
    const std::filesystem::path doomed = path.string() + ".old.unfinished";
    std::filesystem::rename(path, doomed);
    std::filesystem::remove_all(doomed);
  }
  if (!log_ || numbers.size() < keep) return;
  const std::filesystem::path oldest = snapshot_path(options_.directory, numbers[keep - 1]);
  log_->remove_up_to(read_manifest(oldest).record);
}

void Store::save(const std::filesystem::path& directory, const SaveOptions& what) {
  if (what.table != kAllTables) table_of(what.table);
  const MutexLock lock(snapshot_mutex_);  // or a load could come between two of its pieces
  std::filesystem::create_directories(directory);
  write_snapshot(directory / part_name(options_.share), false, what, {});
}

void Store::saved(const SaveOptions& what) {
  for (const TableSpec& spec : tables()) {
    Table& table = table_of(spec.id);
    if (!what.covers(spec.id) || !table.sparse) continue;
    pool_.run([&](int owner) { table.sparse->part(owner).saved(); });
  }
}

// ---- Reading ------------------------------------------------------------------------------------

// Pieces of a snapshot keep their record numbers. Those of a checkpoint belong to another log: they
// count as they are now.
void Store::load_pieces(const std::filesystem::path& directory, const TableManifest& from,
                        Table& table, LoadMode mode) {
  for (const Piece& piece : from.pieces) {
    const uint64_t number = mode == LoadMode::kSnapshot ? piece.record : records();
    if (table.dense) {
      table.dense->load(read_piece(directory, from.spec, piece), piece.slice, number);
    } else if (piece.shard >= 0 && options_.share.holds(piece.shard)) {
      table.sparse->part(table.sparse->owner_of(piece.shard))
          .load(piece.shard, read_piece(directory, from.spec, piece), number, mode);
    }
  }
}

bool Store::load_snapshot(const std::filesystem::path& directory) {
  try {
    const Manifest manifest = read_manifest(directory);
    require(manifest.share == options_.share,
            "{} is of server {} of {}, but this is server {} of {}", directory.string(),
            manifest.share.server, manifest.share.servers, options_.share.server,
            options_.share.servers);
    for (const TableManifest& table : manifest.tables) {
      Table& made = add_table(std::make_unique<Table>(table.spec, options_));
      made.powers = table.powers;
      load_pieces(directory, table, made, LoadMode::kSnapshot);
    }
    for (const PushId& id : manifest.last_pushes) last_[id.worker] = id.sequence;
    // One from before ids were written was made of tables that had been trained.
    values_ = manifest.values.value_or(Values{.used = true});
    record_ = snapshot_record_ = manifest.record;
    return true;
  } catch (const Error& error) {
    log::warning("{} cannot be used, the one before it is tried: {}", directory.string(),
                 error.what());
    last_.clear();
    values_ = {};
    const MutexLock lock(tables_mutex_);
    tables_.clear();
    return false;
  }
}

void Store::replay(const Record& record) {
  record_ = record.number;
  if (record.kind == RecordKind::kTable) {
    const auto* text = reinterpret_cast<const char*>(record.body.data());
    const TableSpec spec = parse_table({text, record.body.size()});
    add_table(std::make_unique<Table>(spec, options_));
    return;
  }
  if (record.kind == RecordKind::kShrink) {
    ByteReader from(record.body);
    Table& table = table_of(from.get<uint32_t>());
    Shrink rule;
    rule.max_unseen = from.get<uint32_t>();
    rule.min_score = from.get<float>();
    rule.decay = from.get<float>();
    require(table.sparse != nullptr, "the dense table {} has no rows to shrink", table.spec.name);
    table.sparse->shrink(pool_, rule, record.number);
    values_.as_loaded = false;
    return;
  }
  if (record.kind == RecordKind::kValues) {
    ByteReader from(record.body);
    values_.id = from.get<uint64_t>();
    const auto server = from.get<uint32_t>(), servers = from.get<uint32_t>();
    const Share share = {static_cast<int>(server), static_cast<int>(servers)};
    require(share == options_.share, "the log is of server {} of {}, but this is server {} of {}",
            server, servers, options_.share.server, options_.share.servers);
    return;
  }
  require(record.kind == RecordKind::kPush, "there is no kind {} of records",
          static_cast<uint32_t>(record.kind));
  const Push push = decode_push(record.body);
  check(push);
  for (const PushId& id : push.ids) last_[id.worker] = id.sequence;
  for (const Change& change : push.changes) {
    Table& table = table_of(change.table);
    const Effect effect = {change.action,
                           {change.lr, table.powers.beta1, table.powers.beta2},
                           change.scale,
                           record.number};
    if (change.action == Action::kGradient) table.powers = table.rule.next(table.powers);
    note_change(change.action);
    if (table.sparse) {
      table.sparse->push(pool_, change.keys, change.values, effect);
    } else {
      table.dense->push(change.values, effect);
    }
  }
}

void Store::recover() {
  remove_leftovers(options_.directory);
  for (const uint64_t number : snapshots_in(options_.directory)) {
    if (load_snapshot(snapshot_path(options_.directory, number))) break;
  }
  const uint64_t before = record_;
  require(before == 0 || !options_.log || has_log(options_.directory),
          "{} has a snapshot up to record {} but no log, which would have what came after it: put "
          "the files log.* back, or begin with an empty folder, from a checkpoint if there is one",
          options_.directory.string(), before);
  record_ = replay_log(options_.directory, record_, [this](const Record& record) {
    try {
      replay(record);
    } catch (Error& error) {
      error.note("record",
                 fmt::format("{} of the log in {}", record.number, options_.directory.string()));
      throw;
    }
  });
  recovered_ = !tables().empty();
  if (recovered_) {
    log::info("tables in {}: {} records from a snapshot, {} from the log",
              options_.directory.string(), before, record_ - before);
  }
  check_mark();
}

// The log and the snapshots say what there is; the mark says what there was.
void Store::check_mark() {
  const std::filesystem::path path = options_.directory / "ready";
  const FoundMark found = read_ready_mark(options_.directory);
  const uint64_t record = found.mark ? found.mark->record : found.empty ? 1 : 0;
  require(
      record <= record_,
      "{} says that the tables had values at record {}, but the log and the snapshots beside it "
      "end at record {}: put the missing files back, or begin with an empty folder, from a "
      "checkpoint if there is one",
      path.string(), record, record_.load());
  if (values_.id == 0 && found.empty) {
    values_.id = kUnnamedValues;
    return;
  }
  require(values_.id != 0 || !found.exists,
          "{} says that the tables have values, but the log and the snapshots beside it do not: "
          "remove it if it is from another folder",
          path.string());
  const ReadyMark expected = {options_.share, values_.id, record};
  if (values_.id == 0 || found.mark == expected) return;
  if (found.exists) {
    log::warning("{} is not the mark of the tables beside it, which are whole: it is written again",
                 path.string());
  }
  write_ready_mark(options_.directory, {options_.share, values_.id, record_});
}

}  // namespace flotilla::ps
