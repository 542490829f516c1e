#include "flotilla/ps/dense_values.h"

#include <cstring>

#include "flotilla/base/error.h"

namespace flotilla::ps {
namespace {

std::map<uint32_t, TableSpec> dense_of(const std::vector<TableSpec>& tables) {
  std::map<uint32_t, TableSpec> dense;
  for (const TableSpec& table : tables) {
    if (table.kind == TableSpec::kDense) dense[table.id] = table;
  }
  return dense;
}

// Answers hold each table up to a multiple of 8 bytes.
size_t padded_bytes(const Slice& slice) {
  return static_cast<size_t>((slice.size() + 1) / 2 * 2) * sizeof(float);
}

}  // namespace

DenseTables::DenseTables(const std::vector<TableSpec>& tables, int servers)
    : tables_(dense_of(tables)), servers_(servers) {}

Slice DenseTables::slice(uint32_t table, int server) const {
  return slice_of(tables_.at(table), {server, servers_});
}

std::vector<Pull> DenseTables::pulls() const {
  std::vector<Pull> pulls;
  for (const auto& [id, table] : tables_) pulls.push_back({.table = id, .dense = true});
  return pulls;
}

size_t DenseTables::room(int server) const {
  size_t bytes = 0;
  for (const auto& [id, table] : tables_) bytes += padded_bytes(slice(id, server));
  return bytes;
}

void DenseTables::check(uint32_t table, int64_t floats) const {
  const auto found = tables_.find(table);
  require(found != tables_.end(), "there is no dense table {}", table);
  require(found->second.width == floats,
          "the parameters of table {} have {} floats, but the servers have {}", found->second.name,
          floats, found->second.width);
}

void DenseTables::read(uint32_t table, std::span<const Bytes> answers,
                       std::span<const std::span<float>> parts) const {
  for (int server = 0; server < servers_; ++server) {
    const std::span<const std::byte> answer = answers[static_cast<size_t>(server)].data;
    require(answer.size() >= room(server), "server {} answered with {} bytes instead of {}", server,
            answer.size(), room(server));
    size_t at = 0;
    for (const auto& [id, spec] : tables_) {
      if (id == table) break;
      at += padded_bytes(slice(id, server));
    }
    for (const std::span<float> piece : pieces_of(parts, slice(table, server))) {
      std::memcpy(piece.data(), answer.data() + at, piece.size_bytes());
      at += piece.size_bytes();
    }
  }
}

}  // namespace flotilla::ps
