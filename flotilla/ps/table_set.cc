#include "flotilla/ps/table_set.h"

#include <cmath>
#include <utility>

#include "flotilla/base/error.h"

namespace flotilla::ps {

StoreTable::StoreTable(const TableSpec& spec, const StoreOptions& options, int version)
    : spec(spec), rule(spec), powers(rule.first_powers()), version(version) {
  if (spec.kind == TableSpec::kSparse) {
    if (!options.directory.empty()) {
      cold = options.directory / fmt::format("{}{}.{}", kCold, spec.id, version);
    }
    sparse = std::make_unique<SparseTable>(spec, options.share, options.owners, cold);
  } else {
    dense = std::make_unique<DenseTable>(spec, options.share);
  }
}

Effect StoreTable::next_effect(const Change& change, uint64_t record) {
  const Effect effect = {
      change.action, {change.lr, powers.beta1, powers.beta2}, change.scale, record};
  if (change.action == Action::kGradient) powers = rule.next(powers);
  return effect;
}

StoreTable& TableSet::at(uint32_t id) const {
  StoreTable* const found = find(id);
  require(found != nullptr, "there is no table {}", id);
  return *found;
}

StoreTable& TableSet::sparse_at(uint32_t id, const char* what) const {
  StoreTable& found = at(id);
  require(found.sparse != nullptr, "the dense table {} has no {}", found.spec.name, what);
  return found;
}

StoreTable* TableSet::find(uint32_t id) const {
  const MutexLock lock(mutex_);
  const auto found = tables_.find(id);
  return found == tables_.end() ? nullptr : found->second.get();
}

StoreTable& TableSet::add(std::unique_ptr<StoreTable> table) {
  const MutexLock lock(mutex_);
  const uint32_t id = table->spec.id;
  return *(tables_[id] = std::move(table));
}

void TableSet::clear() {
  const MutexLock lock(mutex_);
  tables_.clear();
}

std::vector<StoreTable*> TableSet::all() const {
  const MutexLock lock(mutex_);
  std::vector<StoreTable*> tables;
  for (const auto& [id, table] : tables_) tables.push_back(table.get());
  return tables;
}

std::vector<TableSpec> TableSet::specs() const {
  const MutexLock lock(mutex_);
  std::vector<TableSpec> specs;
  for (const auto& [id, table] : tables_) specs.push_back(table->spec);
  return specs;
}

void TableSet::check(const Push& push) const {
  for (const Change& change : push.changes) {
    const StoreTable& table = at(change.table);
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

}  // namespace flotilla::ps
