#include "flotilla/data/slots.h"

#include <algorithm>
#include <set>

namespace flotilla::data {
namespace {

// Calls `f` with the values of two columns of one dtype.
template <typename Values, typename F>
void with_both(Values& into, const Values& from, F f) {
  if (std::holds_alternative<std::vector<float>>(into)) {
    f(std::get<std::vector<float>>(into), std::get<std::vector<float>>(from));
  } else {
    f(std::get<std::vector<int64_t>>(into), std::get<std::vector<int64_t>>(from));
  }
}

SlotColumn empty_like(const SlotColumn& column) { return {column.dtype(), column.width()}; }

Shape with_rows(int64_t rows, const Shape& shape) {
  Shape whole = {rows};
  for (const int64_t extent : shape) whole.push_back(extent);
  return whole;
}

template <typename T>
void copy_records(const SlotColumn& column, std::span<const int64_t> records, T* out) {
  const T* values = column.values<T>().data();
  for (const int64_t r : records) {
    out = std::copy(values + column.begin(r), values + column.end(r), out);
  }
}

int64_t size_of_records(const SlotColumn& column, std::span<const int64_t> records) {
  int64_t size = 0;
  for (const int64_t r : records) size += column.end(r) - column.begin(r);
  return size;
}

LoD lod_of(const SlotColumn& column, std::span<const int64_t> records, int64_t width) {
  std::vector<int64_t> offsets = {0};
  offsets.reserve(records.size() + 1);
  for (const int64_t r : records) {
    offsets.push_back(offsets.back() + (column.end(r) - column.begin(r)) / width);
  }
  return {std::move(offsets)};
}

Tensor to_tensor(const SlotColumn& column, std::span<const int64_t> records, const SlotSpec& spec) {
  const int64_t size = size_of_records(column, records), width = std::max<int64_t>(spec.width(), 1);
  const int64_t rows = spec.dense() ? static_cast<int64_t>(records.size()) : size / width;
  require(rows * spec.width() == size,
          "slot {} holds {} values in {} records, but its tensor needs {} in each {}", spec.name,
          size, records.size(), spec.width(), spec.dense() ? "record" : "element");
  Tensor made(spec.dtype, with_rows(rows, spec.shape));
  if (spec.dtype == f32) {
    copy_records(column, records, made.data<float>());
  } else {
    copy_records(column, records, made.data<int64_t>());
  }
  if (!spec.dense()) made.set_lod(lod_of(column, records, width));
  return made;
}

}  // namespace

void check_specs(std::span<const SlotSpec> specs) {
  require(!specs.empty(), "a record needs at least one slot, but none was named");
  std::set<std::string_view> names;
  for (const SlotSpec& spec : specs) {
    require(spec.dtype == f32 || spec.dtype == i64,
            "slot {} is {}, but text holds float32 and int64 slots only", spec.name, spec.dtype);
    require(spec.lod_level == 0 || spec.lod_level == 1,
            "slot {} has lod_level {}, but records hold sequences of one level at most", spec.name,
            spec.lod_level);
    require(spec.shape.known() && spec.shape.numel() > 0,
            "slot {} has shape {} without the batch, but all its extents must be known", spec.name,
            spec.shape);
    require(names.insert(spec.name).second, "two slots are named {}", spec.name);
  }
}

SlotColumn::SlotColumn(DType dtype, int64_t width) : width_(width) {
  if (dtype == i64) values_ = std::vector<int64_t>();
}

void SlotColumn::write_offsets() {
  offsets_.reserve(static_cast<size_t>(records_) + 2);
  for (int64_t r = 0; r <= records_; ++r) offsets_.push_back(r * width_);
}

void SlotColumn::truncate(int64_t records) {
  records_ = std::min(records_, records);
  const auto size = static_cast<size_t>(begin(records_));
  std::visit([size](auto& v) { v.resize(size); }, values_);
  if (records_ == 0) {
    offsets_.clear();
  } else if (!offsets_.empty()) {
    offsets_.resize(static_cast<size_t>(records_) + 1);
  }
}

void SlotColumn::append(const SlotColumn& other) {
  require(dtype() == other.dtype(), "records of {} cannot follow records of {}", other.dtype(),
          dtype());
  const int64_t before = stored();
  const bool uniform = width_ == other.width_ && other.offsets_.empty();
  if (offsets_.empty() && !uniform) write_offsets();
  if (!offsets_.empty()) {
    offsets_.reserve(offsets_.size() + static_cast<size_t>(other.records_));
    for (int64_t r = 1; r <= other.records_; ++r) offsets_.push_back(before + other.begin(r));
  }
  with_both(values_, other.values_, [](auto& into, const auto& from) {
    into.insert(into.end(), from.begin(), from.end());
  });
  records_ += other.records_;
}

void SlotColumn::append(const SlotColumn& other, std::span<const int64_t> records) {
  require(dtype() == other.dtype(), "records of {} cannot follow records of {}", other.dtype(),
          dtype());
  with_both(values_, other.values_, [&](auto& into, const auto& from) {
    into.reserve(into.size() + static_cast<size_t>(size_of_records(other, records)));
    for (const int64_t r : records) {
      into.insert(into.end(), from.begin() + other.begin(r), from.begin() + other.end(r));
      end_record();
    }
  });
}

void SlotColumn::reserve(int64_t records) {
  std::visit([&](auto& v) { v.reserve(static_cast<size_t>(records * width_)); }, values_);
}

int64_t SlotColumn::bytes() const {
  const int64_t values = stored() * (dtype() == f32 ? int64_t{sizeof(float)} : int64_t{8});
  return values + static_cast<int64_t>(offsets_.size() * sizeof(int64_t));
}

SlotBlock::SlotBlock(std::span<const SlotSpec> specs) {
  for (const SlotSpec& spec : specs) columns_.emplace_back(spec.dtype, spec.width());
}

void SlotBlock::append(const SlotBlock& other) {
  if (columns_.empty()) {
    columns_ = other.columns_;
    return;
  }
  require(slots() == other.slots(), "records of {} slots cannot follow records of {}",
          other.slots(), slots());
  for (int64_t s = 0; s < slots(); ++s) column(s).append(other.column(s));
}

void SlotBlock::append(const SlotBlock& other, std::span<const int64_t> records) {
  if (columns_.empty()) {
    for (const SlotColumn& column : other.columns_) columns_.push_back(empty_like(column));
  }
  require(slots() == other.slots(), "records of {} slots cannot follow records of {}",
          other.slots(), slots());
  for (int64_t s = 0; s < slots(); ++s) column(s).append(other.column(s), records);
}

void SlotBlock::truncate(int64_t records) {
  for (SlotColumn& column : columns_) column.truncate(records);
}

void SlotBlock::reserve(int64_t records) {
  for (SlotColumn& column : columns_) column.reserve(records);
}

int64_t SlotBlock::bytes() const {
  int64_t sum = 0;
  for (const SlotColumn& column : columns_) sum += column.bytes();
  return sum;
}

SlotBlock SlotBlock::select(std::span<const int64_t> records) const {
  SlotBlock chosen;
  chosen.append(*this, records);
  return chosen;
}

void SlotBlock::permute_slot(int64_t slot, std::span<const int64_t> permutation) {
  require(static_cast<int64_t>(permutation.size()) == records(),
          "a permutation of {} records needs as many numbers, but has {}", records(),
          permutation.size());
  SlotColumn moved = empty_like(column(slot));
  moved.append(column(slot), permutation);
  column(slot) = std::move(moved);
}

Batch to_batch(const SlotBlock& block, std::span<const int64_t> records,
               std::span<const SlotSpec> specs) {
  require(static_cast<int64_t>(specs.size()) == block.slots(),
          "a batch of {} slots was requested from records with {}", specs.size(), block.slots());
  for (const int64_t r : records) {
    require(0 <= r && r < block.records(), "record {} was requested, but there are {}", r,
            block.records());
  }
  Batch batch;
  batch.reserve(specs.size());
  for (int64_t s = 0; s < block.slots(); ++s) {
    batch.push_back(to_tensor(block.column(s), records, specs[static_cast<size_t>(s)]));
  }
  return batch;
}

void BadRecords::add(const Error& error) {
  MutexLock lock(mutex_);
  if (count_ >= allowed_) {
    Error last = error;
    if (allowed_ > 0) {
      last.note("skipped", fmt::format("{} bad records before this one, which is as many as "
                                       "max_bad_records allows",
                                       count_));
    }
    throw last;
  }
  if (count_++ == 0) first_ = error.sentence();
  if (each_) each_(error);
}

int64_t BadRecords::count() const {
  MutexLock lock(mutex_);
  return count_;
}

std::string BadRecords::summary() const {
  MutexLock lock(mutex_);
  if (count_ == 0) return "";
  return fmt::format("skipped {} bad record{} (at most {} are allowed); the first: {}", count_,
                     count_ == 1 ? "" : "s", allowed_, first_);
}

}  // namespace flotilla::data
