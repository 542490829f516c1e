#include "flotilla/ps/store.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/ps/bytes.h"
#include "flotilla/ps/store_files.h"
#include "flotilla/ps/store_load.h"

namespace flotilla::ps {

Store::Store(const StoreOptions& options) : contents_(options) {
  const Share& share = options.share;
  require(0 <= share.server && share.server < share.servers && share.servers <= kShards,
          "a server must be one of 1 to {}, but this is server {} of {}", kShards, share.server,
          share.servers);
  if (options.directory.empty()) return;
  if (std::filesystem::create_directories(options.directory)) {
    sync_directory(std::filesystem::absolute(options.directory).parent_path());
  }
  const std::filesystem::path lock = options.directory / "lock";
  lock_ = Fd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock_) fail_to("open", lock);
  require(::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0, "another process is using the tables in {}",
          options.directory.string());
  recovered_ = recover(contents_);
  if (options.log) contents_.journal.open(options.directory, options.log_options);
}

void Store::create(const TableSpec& spec) {
  check_table(spec);
  const std::string text = print(spec);
  Journal::Pending pending = {.kind = RecordKind::kTable};
  pending.body = std::as_bytes(std::span(text));
  const MutexLock lock(create_mutex_);
  for (const TableSpec& there : contents_.tables.specs()) {
    // A program that starts again draws from another seed; rows come from that of the table.
    TableSpec alike = spec;
    alike.seed = there.seed;
    alike.stream = there.stream;
    if (there == alike) return;
    require(there.id != spec.id && there.name != spec.name,
            "the table to be created must be the same as the existing one, \"{}\", but is \"{}\"",
            print(there), text);
  }
  // What can go wrong does so before the log has it.
  auto table = std::make_unique<StoreTable>(spec, contents_.options);
  pending.apply = [&](uint64_t) { contents_.tables.add(std::move(table)); };
  contents_.journal.commit(pending);
}

// ---- Pushes -------------------------------------------------------------------------------------

Store::Outcome Store::push(const Push& push) {
  contents_.tables.check(push);
  Journal::Pending pending;
  pending.ids = push.ids;
  // Refuses keys of other servers, before anything is written.
  std::vector<Split> splits(push.changes.size());
  std::vector<StoreTable*> tables(push.changes.size());
  for (size_t i = 0; i < push.changes.size(); ++i) {
    tables[i] = &contents_.tables.at(push.changes[i].table);
    if (tables[i]->sparse) splits[i] = tables[i]->sparse->split(push.changes[i].keys);
  }
  std::vector<std::byte> encoded;
  const bool logged = contents_.journal.log() != nullptr;
  if (logged && push.bytes.empty()) encoded = encode(push);
  if (logged) pending.body = push.bytes.empty() ? encoded : push.bytes;
  std::vector<Effect> effects(push.changes.size());
  pending.job = std::make_unique<ShardPool::Job>([&](int owner) {
    for (size_t i = 0; i < push.changes.size(); ++i) {
      const Change& change = push.changes[i];
      if (tables[i]->sparse) {
        tables[i]->sparse->part(owner).push(splits[i].of(owner), change.values.data(), effects[i]);
      } else if (tables[i]->dense->owner(contents_.options.owners) == owner) {
        tables[i]->dense->push(change.values, effects[i]);
      }
    }
  });
  pending.apply = [&](uint64_t record) {
    for (size_t i = 0; i < push.changes.size(); ++i) {
      const Change& change = push.changes[i];
      effects[i] = tables[i]->next_effect(change, record);
      contents_.note_change(change.action);
    }
    contents_.pool.submit(*pending.job);
  };
  contents_.journal.commit(pending);
  if (pending.repeated) return Outcome::kRepeated;
  contents_.journal.wait_for(pending);
  return Outcome::kApplied;
}

uint64_t Store::last_push(uint64_t worker) {
  uint64_t last = 0;
  contents_.journal.in_order([&] {
    const auto& all = contents_.journal.last_pushes();
    if (const auto found = all.find(worker); found != all.end()) last = found->second;
  });
  return last;
}

int64_t Store::shrink(uint32_t id, const Shrink& rule) {
  StoreTable& table = contents_.tables.sparse_at(id, "rows to shrink");
  Journal::Pending pending = {.kind = RecordKind::kShrink};
  std::array<std::byte, 16> body = {};
  pending.body = body;
  ByteWriter to(body);
  to.put(id);
  to.put(rule.max_unseen);
  to.put(rule.min_score);
  to.put(rule.decay);
  std::atomic<int64_t> gone = 0;
  uint64_t number = 0;
  pending.job = std::make_unique<ShardPool::Job>(
      [&](int owner) { gone += table.sparse->part(owner).shrink(rule, number); });
  pending.apply = [&](uint64_t record) {
    number = record;
    contents_.values.as_loaded = false;
    contents_.pool.submit(*pending.job);
  };
  contents_.journal.commit(pending);
  contents_.journal.wait_for(pending);
  return gone;
}

// ---- First values -------------------------------------------------------------------------------

Values Store::values() {
  Values values;
  contents_.journal.in_order([&] { values = contents_.values; });
  if (values.used && values.id == 0) values.id = kUnnamedValues;
  return values;
}

// The body: id:u64 server:u32 servers:u32. A log alone does not say whose it is.
void Store::set_values(uint64_t id) {
  require(id != 0, "the initial values of tables need an id other than 0");
  Journal::Pending pending = {.kind = RecordKind::kValues};
  std::array<std::byte, 16> body = {};
  pending.body = body;
  ByteWriter to(body);
  to.put(id);
  to.put(static_cast<uint32_t>(contents_.options.share.server));
  to.put(static_cast<uint32_t>(contents_.options.share.servers));
  uint64_t number = 0;
  pending.apply = [&](uint64_t record) {
    contents_.values.id = id;
    number = record;
  };
  contents_.journal.commit(pending);
  LogWriter* const log = contents_.journal.log();
  if (log == nullptr) return;
  contents_.journal.in_order([&] { log->sync(); });
  write_ready_mark(contents_.options.directory, {contents_.options.share, id, number});
}

// ---- Pulls --------------------------------------------------------------------------------------

void Store::pull(uint32_t table, std::span<const int64_t> keys, std::span<float> values,
                 bool create) {
  StoreTable& found = contents_.tables.sparse_at(table, "keys");
  found.sparse->pull(contents_.pool, keys, values, create);
}

void Store::pull_rows(uint32_t table, std::span<const int64_t> keys, std::span<float> rows) {
  StoreTable& found = contents_.tables.sparse_at(table, "keys");
  found.sparse->pull_with_state(contents_.pool, keys, rows);
}

size_t Store::width(uint32_t table) const {
  const StoreTable& found = contents_.tables.sparse_at(table, "keys");
  return static_cast<size_t>(found.spec.width);
}

void Store::collect(uint32_t table, int shard, std::vector<int64_t>& keys,
                    std::vector<float>& values) {
  StoreTable& found = contents_.tables.sparse_at(table, "rows");
  if (!contents_.options.share.holds(shard)) return;
  contents_.pool.run([&](int owner) {
    if (owner != found.sparse->owner_of(shard)) return;
    found.sparse->part(owner).collect(shard, keys, values);
  });
}

Slice Store::slice(uint32_t table) const {
  const StoreTable& found = contents_.tables.at(table);
  require(found.dense != nullptr, "the sparse table {} has no slices", found.spec.name);
  return found.dense->slice();
}

void Store::pull_dense(uint32_t table, std::span<float> values) {
  const Slice slice = this->slice(table);
  const DenseTable& dense = *contents_.tables.at(table).dense;
  require(static_cast<int64_t>(values.size()) == slice.size(),
          "the slice of table {} has {} floats, but there is room for {}", dense.spec().name,
          slice.size(), values.size());
  contents_.pool.run([&](int owner) {
    if (owner != dense.owner(contents_.options.owners)) return;
    std::copy(dense.values().begin(), dense.values().end(), values.begin());
  });
}

// ---- Files --------------------------------------------------------------------------------------

void Store::snapshot() {
  require(!directory().empty(), "a store without a directory has no snapshots");
  const MutexLock lock(snapshot_mutex_);
  write_next_snapshot(contents_);
  remove_old_snapshots(contents_,
                       static_cast<size_t>(std::max(contents_.options.keep_snapshots, 1)));
}

void Store::save(const std::filesystem::path& directory, const SaveOptions& what) {
  if (what.table != kAllTables) contents_.tables.at(what.table);
  const MutexLock lock(snapshot_mutex_);  // or a load could come between two of its pieces
  write_checkpoint(contents_, directory, what);
}

void Store::saved(const SaveOptions& what) {
  for (StoreTable* table : contents_.tables.all()) {
    if (!what.covers(table->spec.id) || !table->sparse) continue;
    contents_.pool.run([&](int owner) { table->sparse->part(owner).saved(); });
  }
}

void Store::load(const std::filesystem::path& directory, uint32_t only) {
  const MutexLock creating(create_mutex_);
  const MutexLock lock(snapshot_mutex_);
  load_checkpoint(contents_, directory, only);
}

void Store::check_checkpoint(const std::filesystem::path& directory, uint32_t only) const {
  ps::check_checkpoint(contents_, directory, only);
}

StoreProgress Store::progress() const {
  return {.records = contents_.journal.records(),
          .snapshot_record = contents_.snapshot_record,
          .log_bytes = contents_.journal.log_bytes()};
}

StoreStats Store::stats() {
  StoreStats stats;
  stats.snapshot_record = contents_.snapshot_record;
  std::vector<StoreTable*> tables;
  Journal& journal = contents_.journal;
  journal.in_order([&] {
    stats.records = journal.records();
    stats.log_bytes = journal.log_bytes();
    stats.writes = journal.writes();
    stats.repeated = journal.repeated();
    tables = contents_.tables.all();
  });
  for (StoreTable* table : tables) {
    StoreStats::Table& made = stats.tables.emplace_back();
    made.spec = table->spec;
    if (table->sparse) {
      made.sparse = table->sparse->stats(contents_.pool);
      continue;
    }
    contents_.pool.run([&](int owner) {
      const DenseTable& dense = *table->dense;
      if (owner != dense.owner(contents_.options.owners)) return;
      const auto floats = static_cast<int64_t>(dense.values().size() + dense.state().size());
      made.sparse = {.rows = 1,
                     .bytes = floats * static_cast<int64_t>(sizeof(float)),
                     .pushed = dense.pushed(),
                     .refused = dense.refused()};
    });
  }
  return stats;
}

}  // namespace flotilla::ps
