#include "flotilla/ps/store.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "flotilla/base/crc32c.h"
#include "flotilla/base/error.h"
#include "flotilla/ps/bytes.h"
#include "flotilla/ps/store_table.h"

namespace flotilla::ps {

Store::Store(StoreOptions options) : options_(std::move(options)), pool_(options_.owners) {
  const Share& share = options_.share;
  require(0 <= share.server && share.server < share.servers && share.servers <= kShards,
          "a server must be one of 1 to {}, but this is server {} of {}", kShards, share.server,
          share.servers);
  if (options_.directory.empty()) return;
  if (std::filesystem::create_directories(options_.directory)) {
    sync_directory(std::filesystem::absolute(options_.directory).parent_path());
  }
  const std::filesystem::path lock = options_.directory / "lock";
  lock_ = Fd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock_) fail_to("open", lock);
  require(::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0, "another process uses the tables in {}",
          options_.directory.string());
  recover();
  if (options_.log) {
    log_ = std::make_unique<LogWriter>(options_.directory, options_.log_options, record_);
  }
}

Store::~Store() = default;

Store::Table& Store::table_of(uint32_t id) const {
  const MutexLock lock(tables_mutex_);
  const auto found = tables_.find(id);
  require(found != tables_.end(), "there is no table {}", id);
  return *found->second;
}

Store::Table& Store::add_table(std::unique_ptr<Table> table) {
  const MutexLock lock(tables_mutex_);
  const uint32_t id = table->spec.id;
  return *(tables_[id] = std::move(table));
}

std::vector<TableSpec> Store::tables() const {
  const MutexLock lock(tables_mutex_);
  std::vector<TableSpec> specs;
  for (const auto& [id, table] : tables_) specs.push_back(table->spec);
  return specs;
}

void Store::create(const TableSpec& spec) {
  check_table(spec);
  const std::string text = print(spec);
  Pending pending = {.kind = RecordKind::kTable};
  pending.body = std::as_bytes(std::span(text));
  const MutexLock lock(create_mutex_);
  for (const TableSpec& there : tables()) {
    // A program that starts again draws from another seed; rows come from that of the table.
    TableSpec alike = spec;
    alike.seed = there.seed;
    alike.stream = there.stream;
    if (there == alike) return;
    require(there.id != spec.id && there.name != spec.name,
            "the table to be created must be like the one that is there: \"{}\", but is \"{}\"",
            print(there), text);
  }
  // What can go wrong does so before the log has it.
  auto table = std::make_unique<Table>(spec, options_);
  pending.apply = [&](uint64_t) { add_table(std::move(table)); };
  commit(pending);
}

// ---- Pushes -------------------------------------------------------------------------------------

void Store::check(const Push& push) const {
  for (const Change& change : push.changes) {
    const Table& table = table_of(change.table);
    const auto width =
        static_cast<size_t>(table.sparse ? table.spec.width : table.dense->slice().size());
    const size_t expected = table.sparse ? change.keys.size() * width : width;
    require(change.values.size() == expected && (table.sparse || change.keys.empty()),
            "a push to table {} must have {} floats, but has {} with {} keys", table.spec.name,
            expected, change.values.size(), change.keys.size());
    require(std::isfinite(change.lr) && std::isfinite(change.scale),
            "a push to table {} has the learning rate {} and the scale {}", table.spec.name,
            change.lr, change.scale);
  }
}

Store::Outcome Store::push(const Push& push) {
  check(push);
  Pending pending;
  pending.ids = push.ids;
  // Refuses keys of other servers, before anything is written.
  std::vector<Split> splits(push.changes.size());
  std::vector<Table*> tables(push.changes.size());
  for (size_t i = 0; i < push.changes.size(); ++i) {
    tables[i] = &table_of(push.changes[i].table);
    if (tables[i]->sparse) splits[i] = tables[i]->sparse->split(push.changes[i].keys);
  }
  std::vector<std::byte> encoded;
  if (log_ != nullptr && push.bytes.empty()) encoded = encode(push);
  if (log_ != nullptr) pending.body = push.bytes.empty() ? encoded : push.bytes;
  std::vector<Effect> effects(push.changes.size());
  pending.job = std::make_unique<ShardPool::Job>([&](int owner) {
    for (size_t i = 0; i < push.changes.size(); ++i) {
      const Change& change = push.changes[i];
      if (tables[i]->sparse) {
        tables[i]->sparse->part(owner).push(splits[i].of(owner), change.values.data(), effects[i]);
      } else if (tables[i]->dense->owner(options_.owners) == owner) {
        tables[i]->dense->push(change.values, effects[i]);
      }
    }
  });
  pending.apply = [&](uint64_t record) {
    for (size_t i = 0; i < push.changes.size(); ++i) {
      const Change& change = push.changes[i];
      Powers& powers = tables[i]->powers;
      effects[i] = {change.action, {change.lr, powers.beta1, powers.beta2}, change.scale, record};
      if (change.action == Action::kGradient) powers = tables[i]->rule.next(powers);
      note_change(change.action);
    }
    pool_.submit(*pending.job);
  };
  commit(pending);
  if (pending.repeated) return Outcome::kRepeated;
  wait_for(pending);
  return Outcome::kApplied;
}

// What is in the log must be done: an owner that fails leaves the store behind its log.
void Store::wait_for(Pending& pending) {
  try {
    pending.job->wait();
  } catch (...) {
    broken_ = true;
    throw;
  }
}

uint64_t Store::last_push(uint64_t worker) {
  uint64_t last = 0;
  in_order([&] {
    const auto found = last_.find(worker);
    if (found != last_.end()) last = found->second;
  });
  return last;
}

int64_t Store::shrink(uint32_t id, const Shrink& rule) {
  Table& table = table_of(id);
  require(table.sparse != nullptr, "the dense table {} has no rows to shrink", table.spec.name);
  Pending pending = {.kind = RecordKind::kShrink};
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
    values_.as_loaded = false;
    pool_.submit(*pending.job);
  };
  commit(pending);
  wait_for(pending);
  return gone;
}

// ---- First values -------------------------------------------------------------------------------

Values Store::values() {
  Values values;
  in_order([&] { values = values_; });
  if (values.used && values.id == 0) values.id = kUnnamedValues;
  return values;
}

void Store::note_change(Action action) {
  if (action == Action::kAssign) return;
  values_.used = true;
  values_.as_loaded = false;
}

// The body: id:u64 server:u32 servers:u32. A log alone does not say whose it is.
void Store::set_values(uint64_t id) {
  require(id != 0, "the first values of tables need an id other than 0");
  Pending pending = {.kind = RecordKind::kValues};
  std::array<std::byte, 16> body = {};
  pending.body = body;
  ByteWriter to(body);
  to.put(id);
  to.put(static_cast<uint32_t>(options_.share.server));
  to.put(static_cast<uint32_t>(options_.share.servers));
  uint64_t number = 0;
  pending.apply = [&](uint64_t record) {
    values_.id = id;
    number = record;
  };
  commit(pending);
  if (!log_) return;
  in_order([&] { log_->sync(); });
  write_ready_mark(options_.directory, {options_.share, id, number});
}

// ---- Order --------------------------------------------------------------------------------------

void Store::in_order(const std::function<void()>& f) {
  const std::thread::id self = std::this_thread::get_id();
  bool inside = false;
  {
    MutexLock lock(mutex_);
    inside = leading_ && orders_ == self;
    while (leading_ && !inside) changed_.wait(lock);
    leading_ = true;
    orders_ = self;
  }
  if (inside) return f();
  const auto end = [&] {
    const MutexLock lock(mutex_);
    leading_ = false;
    orders_ = {};
    changed_.notify_all();
  };
  try {
    f();
  } catch (...) {
    end();
    throw;
  }
  end();
}

// Whoever finds nobody leading leads: it takes all that wait, writes them at once, and the next
// leader finds what came meanwhile.
void Store::commit(Pending& pending) {
  require(pending.body.size() <= kMostBody, "a push of {} bytes is too long: the most is {}",
          pending.body.size(), kMostBody);
  pending.crc = crc32c(0, pending.body.data(), pending.body.size());
  std::vector<Pending*> group;
  {
    MutexLock lock(mutex_);
    waiting_.push_back(&pending);
    while (!pending.done && leading_) changed_.wait(lock);
    if (!pending.done) {
      leading_ = true;
      group.swap(waiting_);
    }
  }
  if (!group.empty()) {
    run_group(group);
    const MutexLock lock(mutex_);
    for (Pending* done : group) done->done = true;
    leading_ = false;
    changed_.notify_all();
  }
  if (pending.error) std::rethrow_exception(pending.error);
}

// Whether the ids are the next of their workers. `next` has what the group's pushes before it took.
bool Store::take_ids(Pending& pending, std::map<uint64_t, uint64_t>& next) const {
  size_t repeated = 0;
  const auto last_of = [&](uint64_t worker) -> uint64_t {
    if (const auto found = next.find(worker); found != next.end()) return found->second;
    const auto found = last_.find(worker);
    return found == last_.end() ? 0 : found->second;
  };
  for (const PushId& id : pending.ids) {
    const uint64_t last = last_of(id.worker);
    require(id.sequence <= last + 1 && id.sequence > 0,
            "push {} of worker {:x} came, but the last before it was {}", id.sequence, id.worker,
            last);
    repeated += id.sequence <= last;
  }
  require(repeated == 0 || repeated == pending.ids.size(),
          "of the {} pushes of a round {} were applied before, and the rest were not",
          pending.ids.size(), repeated);
  pending.repeated = repeated > 0;
  if (pending.repeated) return false;
  for (const PushId& id : pending.ids) next[id.worker] = id.sequence;
  return true;
}

void Store::run_group(const std::vector<Pending*>& group) {
  std::map<uint64_t, uint64_t> next;
  std::vector<Pending*> fresh;
  std::vector<LogWriter::Entry> entries;
  for (Pending* pending : group) {
    try {
      invariant(!broken_, "a push that is in the log could not be applied; restart the server");
      if (!take_ids(*pending, next)) {
        ++repeated_;
        continue;
      }
      fresh.push_back(pending);
      entries.push_back({pending->kind, pending->body, pending->crc});
    } catch (...) {
      pending->error = std::current_exception();
    }
  }
  try {
    if (log_ && !fresh.empty()) {
      log_->append(entries);
      ++writes_;
    }
  } catch (...) {
    for (Pending* pending : fresh) pending->error = std::current_exception();
    return;
  }
  for (const auto& [worker, sequence] : next) last_[worker] = sequence;
  for (Pending* pending : fresh) {
    try {
      pending->apply(++record_);
    } catch (...) {
      broken_ = true;
      pending->error = std::current_exception();
    }
  }
}

// ---- Pulls --------------------------------------------------------------------------------------

void Store::pull(uint32_t table, std::span<const int64_t> keys, std::span<float> values,
                 bool create) {
  Table& found = table_of(table);
  require(found.sparse != nullptr, "the dense table {} has no keys", found.spec.name);
  found.sparse->pull(pool_, keys, values, create);
}

void Store::pull_rows(uint32_t table, std::span<const int64_t> keys, std::span<float> rows) {
  Table& found = table_of(table);
  require(found.sparse != nullptr, "the dense table {} has no keys", found.spec.name);
  found.sparse->pull_with_state(pool_, keys, rows);
}

size_t Store::width(uint32_t table) const {
  const Table& found = table_of(table);
  require(found.sparse != nullptr, "the dense table {} has no keys", found.spec.name);
  return static_cast<size_t>(found.spec.width);
}

void Store::collect(uint32_t table, int shard, std::vector<int64_t>& keys,
                    std::vector<float>& values) {
  Table& found = table_of(table);
  require(found.sparse != nullptr, "the dense table {} has no rows", found.spec.name);
  if (!options_.share.holds(shard)) return;
  pool_.run([&](int owner) {
    if (owner != found.sparse->owner_of(shard)) return;
    found.sparse->part(owner).collect(shard, keys, values);
  });
}

void Store::for_each_row(uint32_t table, const SeeRows& f) {
  for (int shard = 0; shard < kShards; ++shard) {
    std::vector<int64_t> keys;
    std::vector<float> values;
    collect(table, shard, keys, values);
    if (!keys.empty()) f(keys, values);
  }
}

Slice Store::slice(uint32_t table) const {
  const Table& found = table_of(table);
  require(found.dense != nullptr, "the sparse table {} has no slices", found.spec.name);
  return found.dense->slice();
}

void Store::pull_dense(uint32_t table, std::span<float> values) {
  const Slice slice = this->slice(table);
  const DenseTable& dense = *table_of(table).dense;
  require(static_cast<int64_t>(values.size()) == slice.size(),
          "the slice of table {} has {} floats, but there is room for {}", dense.spec().name,
          slice.size(), values.size());
  pool_.run([&](int owner) {
    if (owner != dense.owner(options_.owners)) return;
    std::copy(dense.values().begin(), dense.values().end(), values.begin());
  });
}

StoreStats Store::stats() {
  StoreStats stats;
  stats.snapshot_record = snapshot_record_;
  std::vector<Table*> tables;
  in_order([&] {
    stats.records = record_;
    stats.log_bytes = log_bytes();
    stats.writes = writes_;
    stats.repeated = repeated_;
    const MutexLock lock(tables_mutex_);
    for (const auto& [id, table] : tables_) tables.push_back(table.get());
  });
  for (Table* table : tables) {
    StoreStats::Table& made = stats.tables.emplace_back();
    made.spec = table->spec;
    if (table->sparse) {
      made.sparse = table->sparse->stats(pool_);
      continue;
    }
    pool_.run([&](int owner) {
      const DenseTable& dense = *table->dense;
      if (owner != dense.owner(options_.owners)) return;
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
