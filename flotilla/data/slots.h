// flotilla/data/slots.h
//
// Records of slots, as recommendation data comes: each record holds for every slot a fixed number
// of values (dense) or a sequence. Text becomes records in a block (RecordParser), and records
// become tensors (to_batch). Files are read by record_reader.h.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/data/batch.h"

namespace flotilla::data {

struct SlotSpec {
  std::string name = {};
  DType dtype = f32;      // f32 or i64
  Shape shape = {1};      // of a sample, or of an element of a sequence; all extents known
  int64_t lod_level = 0;  // 0: dense, shape.numel() values in each record; 1: a sequence

  bool dense() const { return lod_level == 0; }
  int64_t width() const { return shape.numel(); }
};

// Refuses what no tensor can be made of: another dtype, an unknown extent, a deeper LoD, no slot,
// or two slots of one name.
void check_specs(std::span<const SlotSpec> specs);

// The values of one slot, record after record.
// Invariant: offsets is empty while every record holds `width` values, so that dense slots and
// those with one id per record cost nothing; otherwise it has records + 1 entries.
class SlotColumn {
 public:
  SlotColumn() = default;
  // `width`: how many values a record is expected to hold.
  SlotColumn(DType dtype, int64_t width);

  DType dtype() const { return values_.index() == 0 ? f32 : i64; }
  int64_t width() const { return width_; }
  int64_t records() const { return records_; }
  int64_t begin(int64_t record) const {
    return offsets_.empty() ? record * width_ : offsets_[static_cast<size_t>(record)];
  }
  int64_t end(int64_t record) const { return begin(record + 1); }
  int64_t size() const { return begin(records_); }

  // All values. REQUIRES: T (float or int64_t) is the dtype's type.
  template <typename T>
  const std::vector<T>& values() const {
    return std::get<std::vector<T>>(values_);
  }
  // The values of a record.
  template <typename T>
  std::span<const T> of(int64_t record) const {
    return std::span(values<T>()).subspan(begin(record), end(record) - begin(record));
  }

  // A parser appends values here and then calls end_record().
  template <typename T>
  std::vector<T>& tail() {
    return std::get<std::vector<T>>(values_);
  }
  void end_record() {
    const int64_t size = stored();
    if (offsets_.empty() && size != (records_ + 1) * width_) write_offsets();
    if (!offsets_.empty()) offsets_.push_back(size);
    ++records_;
  }
  // Drops the values of a record that was not ended, and records beyond the first `records`.
  void truncate(int64_t records);

  void append(const SlotColumn& other);
  // Those records of `other`, in that order; one may come twice.
  void append(const SlotColumn& other, std::span<const int64_t> records);
  void reserve(int64_t records);
  int64_t bytes() const;

 private:
  int64_t stored() const {
    return static_cast<int64_t>(dtype() == f32 ? std::get<0>(values_).size()
                                               : std::get<1>(values_).size());
  }
  void write_offsets();

  std::variant<std::vector<float>, std::vector<int64_t>> values_;
  int64_t width_ = 1;
  int64_t records_ = 0;
  std::vector<int64_t> offsets_;
};

// Records in columns, one for each slot, in the order of the specs.
// Thread safety: none.
class SlotBlock {
 public:
  SlotBlock() = default;
  explicit SlotBlock(std::span<const SlotSpec> specs);

  int64_t records() const { return columns_.empty() ? 0 : columns_[0].records(); }
  int64_t slots() const { return static_cast<int64_t>(columns_.size()); }
  const SlotColumn& column(int64_t slot) const { return columns_[static_cast<size_t>(slot)]; }
  SlotColumn& column(int64_t slot) { return columns_[static_cast<size_t>(slot)]; }

  // A block that was made without specs takes those of the first block appended.
  // REQUIRES: the same slots.
  void append(const SlotBlock& other);
  void append(const SlotBlock& other, std::span<const int64_t> records);
  void truncate(int64_t records);
  void reserve(int64_t records);
  void clear() { truncate(0); }
  // What the values and offsets take in memory.
  int64_t bytes() const;

  // Those records, in that order: rows of a permutation, or a share.
  SlotBlock select(std::span<const int64_t> records) const;
  // Record i gets the values that record permutation[i] had in one slot; the others stay.
  // REQUIRES: a permutation of all records.
  void permute_slot(int64_t slot, std::span<const int64_t> permutation);

 private:
  std::vector<SlotColumn> columns_;
};

// A tensor for each spec. Dense slots: [n, shape...]. Sequences: [elements, shape...] with a LoD of
// one level; elements are counted in units of shape.numel() values.
// REQUIRES: 0 <= records[i] < block.records(), and the specs of the block.
Batch to_batch(const SlotBlock& block, std::span<const int64_t> records,
               std::span<const SlotSpec> specs);

// Where a piece of text stands; `file` may also name a pipe.
struct TextPosition {
  std::string file = {};
  int64_t line = 1;  // from 1 on
  int64_t byte = 0;  // of the unpacked text, from 0 on
};

// What to do about records that cannot be read: skip and count up to `allowed` of them, then throw
// the next one's error. One object serves a whole data set.
// Thread safety: all calls, from any thread.
class BadRecords {
 public:
  explicit BadRecords(int64_t allowed = 0) : allowed_(allowed) {}
  // `each` is told of every record that is skipped, one at a time.
  BadRecords(int64_t allowed, std::function<void(const Error&)> each)
      : allowed_(allowed), each_(std::move(each)) {}

  // Throws `error` where that is one too many.
  void add(const Error& error);
  int64_t count() const;
  // "skipped 3 bad records (at most 10 are allowed); the first: <sentence>", or "" without any.
  std::string summary() const;

 private:
  const int64_t allowed_;
  const std::function<void(const Error&)> each_;
  mutable Mutex mutex_;
  int64_t count_ FLT_GUARDED_BY(mutex_) = 0;
  std::string first_ FLT_GUARDED_BY(mutex_);
};

// Turns lines into records.
// Thread safety: none; each thread has a parser of its own, which reads one file at a time.
class RecordParser {
 public:
  virtual ~RecordParser() = default;

  virtual const std::vector<SlotSpec>& specs() const = 0;
  // Appends the records of `text` to `out`, which was made with specs(). `text` holds whole lines;
  // the last may lack its newline. `at` is where it begins, and is moved behind it; line 1 begins a
  // file. Blank lines are passed over. A bad record leaves nothing in `out` and goes to `bad`, with
  // file, line, byte, slot, what was expected and what was found.
  virtual void parse(std::string_view text, TextPosition& at, SlotBlock& out, BadRecords& bad) = 0;
};

// The multi-slot text of data generators and pipe commands:
//
//   record := slot (blank slot)* newline           a slot for each spec, in their order
//   slot   := count (blank value){count}           count >= 1
//
// i64 values take the whole range of uint64 too: ids are bits.
std::unique_ptr<RecordParser> multi_slot_parser(std::vector<SlotSpec> specs);

// Criteo's click log, see criteo.h, and tables of values, see csv.h.

}  // namespace flotilla::data
