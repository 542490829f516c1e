#include "flotilla/data/slot_bytes.h"

#include <cstring>

#include "flotilla/base/error.h"

namespace flotilla::data {
namespace {

void put(std::string& bytes, const void* from, size_t size) {
  bytes.append(static_cast<const char*>(from), size);
}

// Takes pieces off the front of a parcel.
class Taker {
 public:
  explicit Taker(std::string_view bytes) : bytes_(bytes) {}

  int64_t number() {
    int64_t value = 0;
    take(&value, sizeof value);
    return value;
  }

  void take(void* into, size_t size) {
    require(size <= bytes_.size(), "a parcel of records ends {} bytes too early",
            size - bytes_.size());
    if (size > 0) std::memcpy(into, bytes_.data(), size);
    bytes_.remove_prefix(size);
  }

  size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

template <typename T>
void put_column(std::string& bytes, const SlotColumn& column, std::span<const int64_t> records) {
  for (const int64_t r : records) {
    const int64_t length = column.end(r) - column.begin(r);
    put(bytes, &length, sizeof length);
  }
  for (const int64_t r : records) {
    const std::span<const T> values = column.of<T>(r);
    put(bytes, values.data(), values.size_bytes());
  }
}

template <typename T>
void take_column(Taker& taker, int64_t records, SlotColumn& column) {
  std::vector<int64_t> lengths(static_cast<size_t>(records));
  taker.take(lengths.data(), lengths.size() * sizeof(int64_t));
  for (const int64_t length : lengths) {
    require(length >= 0 && static_cast<size_t>(length) <= taker.left() / sizeof(T),
            "a parcel of records names {} values, but {} bytes are left", length, taker.left());
    std::vector<T>& values = column.tail<T>();
    const size_t before = values.size();
    values.resize(before + static_cast<size_t>(length));
    taker.take(values.data() + before, static_cast<size_t>(length) * sizeof(T));
    column.end_record();
  }
}

void take_block(Taker& taker, SlotBlock& out) {
  const int64_t records = taker.number();
  require(records >= 0 && static_cast<size_t>(records) <= taker.left(),
          "a parcel of {} bytes cannot hold {} records", taker.left(), records);
  for (int64_t s = 0; s < out.slots(); ++s) {
    SlotColumn& column = out.column(s);
    if (column.dtype() == f32) {
      take_column<float>(taker, records, column);
    } else {
      take_column<int64_t>(taker, records, column);
    }
  }
  require(taker.left() == 0, "a parcel of records has {} bytes too many: its slots are different",
          taker.left());
}

}  // namespace

std::string to_bytes(const SlotBlock& block, std::span<const int64_t> records) {
  std::string bytes;
  const auto count = static_cast<int64_t>(records.size());
  put(bytes, &count, sizeof count);
  for (int64_t s = 0; s < block.slots(); ++s) {
    const SlotColumn& column = block.column(s);
    if (column.dtype() == f32) {
      put_column<float>(bytes, column, records);
    } else {
      put_column<int64_t>(bytes, column, records);
    }
  }
  return bytes;
}

void append_bytes(std::string_view bytes, SlotBlock& out) {
  const int64_t before = out.records();
  Taker taker(bytes);
  try {
    take_block(taker, out);
  } catch (...) {
    for (int64_t s = 0; s < out.slots(); ++s) out.column(s).truncate(before);
    throw;
  }
}

}  // namespace flotilla::data
