// flotilla/ps/snapshot.h
//
// The tables of a server in a directory:
//
//   MANIFEST     text, see below
//   table.<id>   pieces behind each other: shards (sparse_part.h) or a slice (dense_table.h)
//
//   manifest := "flotilla snapshot 1" "record" n "server" i "of" n
//               ["changed" "rows"]                          sparse tables: a delta
//               ["values" id state [checkpoint]]            of a server's own: values.h
//               {"worker" id sequence}                      the last push of each
//               {table                                      table.h
//                "powers" beta1 beta2                       the bits of the floats, in hex
//                {piece}} "end" crc                         CRC-32C of all before it, in hex
//   piece    := "shard" n tail | "slice" begin end tail
//   tail     := "record" n "rows" n "offset" n "bytes" n "crc" hex
//
// one line each. A piece has its own record number: it was copied between two pushes while others
// went on, and holds all records up to that one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/ps/change.h"
#include "flotilla/ps/files.h"
#include "flotilla/ps/rule.h"
#include "flotilla/ps/table.h"
#include "flotilla/ps/values.h"

namespace flotilla::ps {

struct Piece {
  int shard = -1;    // of a sparse table
  Slice slice = {};  // of a dense one
  uint64_t record = 0;
  int64_t rows = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint32_t crc = 0;

  bool operator==(const Piece&) const = default;
};

struct TableManifest {
  TableSpec spec = {};
  Powers powers = {};
  std::vector<Piece> pieces = {};

  bool operator==(const TableManifest&) const = default;
};

struct Manifest {
  uint64_t record = 0;  // every piece holds all records up to this one
  Share share = {};
  bool delta = false;  // of sparse tables only the rows that changed since another checkpoint
  std::optional<Values> values = {};
  std::vector<PushId> last_pushes = {};
  std::vector<TableManifest> tables = {};

  bool operator==(const Manifest&) const = default;
};

std::string print(const Manifest& manifest);
// Refuses a text that is not whole.
Manifest parse_manifest(std::string_view text);

// Writes into <directory>.unfinished, which finish() puts in its place: there is
// the old one, or none, or all of the new one. Call order: (begin_table add_piece*)* finish.
class SnapshotWriter {
 public:
  SnapshotWriter(std::filesystem::path directory, Manifest head);
  ~SnapshotWriter();  // without finish(): leaves nothing behind
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  void begin_table(const TableSpec& spec, const Powers& powers);
  void add_piece(Piece piece, std::span<const std::byte> bytes);
  void finish();

 private:
  void end_table();

  const std::filesystem::path directory_;
  const std::filesystem::path temporary_;
  Manifest manifest_;
  std::unique_ptr<FileWriter> file_;
};

// Of a server in the directory of a checkpoint.
std::string part_name(const Share& share);

// Whether a directory is what a writer that was killed left behind.
bool is_unfinished(const std::filesystem::path& directory);

Manifest read_manifest(const std::filesystem::path& directory);
// The bytes of a piece; refuses those that are not what was written.
std::vector<std::byte> read_piece(const std::filesystem::path& directory, const TableSpec& table,
                                  const Piece& piece);

}  // namespace flotilla::ps
