// flotilla/ps/dense_values.h
//
// The dense tables of a job, as a worker sees them: lists of parameters, cut over servers.

#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "flotilla/ps/channel.h"
#include "flotilla/ps/request.h"
#include "flotilla/ps/table.h"

namespace flotilla::ps {

// The parts of a list of arrays, as if they lay one behind the other, that are in [begin, end).
template <typename T>
std::vector<std::span<T>> pieces_of(std::span<const std::span<T>> parts, const Slice& slice) {
  std::vector<std::span<T>> pieces;
  int64_t at = 0;
  for (const std::span<T> part : parts) {
    const auto size = static_cast<int64_t>(part.size());
    const int64_t begin = std::max(slice.begin, at), end = std::min(slice.end, at + size);
    if (begin < end) {
      pieces.push_back(
          part.subspan(static_cast<size_t>(begin - at), static_cast<size_t>(end - begin)));
    }
    at += size;
  }
  return pieces;
}

// Which dense tables a worker asks for, and where their values are in the answers.
class DenseTables {
 public:
  DenseTables(const std::vector<TableSpec>& tables, int servers);

  bool empty() const { return tables_.empty(); }
  Slice slice(uint32_t table, int server) const;
  // The pulls of all tables.
  std::vector<Pull> pulls() const;
  // Bytes of a server's answer to them.
  size_t room(int server) const;
  // Refuses a list of parameters whose floats are not those of the table.
  void check(uint32_t table, int64_t floats) const;
  // Writes a table's values from the answers of all servers to pulls(), or to these and others.
  void read(uint32_t table, std::span<const Bytes> answers,
            std::span<const std::span<float>> parts) const;

 private:
  const std::map<uint32_t, TableSpec> tables_;
  const int servers_;
};

}  // namespace flotilla::ps
