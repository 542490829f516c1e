// flotilla/ps/values.h
//
// Where the values of a server's tables come from, and the file `ready` that says that there are
// some. The log and the snapshots have it too; the file is for what they cannot tell: that they
// are gone.
//
//   file := "flotilla ready 1" "server" i "of" n "values" id "record" n "end" crc
//
// The first three in lines of their own, id and crc (CRC-32C of all before it) in hex.

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "flotilla/ps/table.h"

namespace flotilla::ps {

// Ids are drawn (with the highest bit), or come from a checkpoint, or are kUnnamedValues.
struct Values {
  // The same on all servers whose values belong together. 0: nobody has said that the tables have
  // their first values.
  uint64_t id = 0;
  // Somebody has learned, or a checkpoint was loaded: first values must not take their place.
  bool used = false;  // implies an id
  // That was loaded last; 0: none. Servers whose values belong together have the same.
  uint64_t checkpoint = 0;
  // It was loaded into an empty store, and nobody has learned since: the values are those of
  // whoever loads it.
  bool as_loaded = false;  // implies `used` and a checkpoint

  bool operator==(const Values&) const = default;
};
// "values <id> unused|used|loaded [<checkpoint>]", for manifests and answers.
std::string print(const Values& values);
Values parse_values(std::string_view text);

// Of a folder from before ids were written: it was trained, or its file `ready` is empty.
inline constexpr uint64_t kUnnamedValues = 1;

struct ServerValues {
  Values values = {};
  std::string folder = {};  // empty: it keeps its tables in memory
};

// Whether the tables of a job's servers have values to go on with; otherwise they need first ones.
// Refuses values that do not belong together: to go on would mix them, to begin anew would lose
// them.
bool have_values(std::span<const ServerValues> servers);
// Whether all of them hold one checkpoint and nothing else. Its id is that of everybody who loads
// it, so they need one of their own before anybody learns: a server that loses its folder and
// loads the checkpoint again would look as if it belonged to those that have learned since. Where
// only some of them were told the id, this is still so.
bool are_as_loaded(std::span<const ServerValues> servers);

struct ReadyMark {
  Share share = {};
  uint64_t id = 0;
  uint64_t record = 0;  // with which the values were there

  bool operator==(const ReadyMark&) const = default;
};

// What is there after a crash is the old one or the new one, whole and on the disk.
void write_ready_mark(const std::filesystem::path& directory, const ReadyMark& mark);

// What `directory` has: a mark; a file that is none, perhaps an empty one; or nothing.
struct FoundMark {
  bool exists = false;
  bool empty = false;
  std::optional<ReadyMark> mark = {};
};
FoundMark read_ready_mark(const std::filesystem::path& directory);

}  // namespace flotilla::ps
