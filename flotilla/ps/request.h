// flotilla/ps/request.h
//
// What workers ask of servers, as values and as bytes. The bytes are checked like those of an
// attacker. Little endian; every part starts at a multiple of 8 bytes.
//
//   request  := magic:u32 kind:u32 rank:u32 workers:u32 body
//   body     := step | text | files | presence | shrink | scan | nothing    (by kind)
//   step     := push_bytes:u64 round:u32 pulls:u32 pull* push? key:i64*
//   pull     := table:u32 flags:u32 keys:u64        its keys come in the order of the pulls
//   presence := attempt:u64 version:u64 state:u64
//   files    := table:u32 mode:u32 text             table: all bits set for all of them
//   shrink   := table:u32 max_unseen:u32 min_score:f32 decay:f32
//   scan     := table:u64 shard:u64
//
//   answer of a step := the floats of every pull, each up to a multiple of 8 bytes
//   answer of a scan := keys:u64 key:i64* value:f32*
//   other answers    := text, a number as i64, or nothing

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/ps/change.h"
#include "flotilla/ps/sparse_part.h"

namespace flotilla::ps {

enum class RequestKind : uint32_t {
  kStep = 1,
  kCreate = 2,    // text: a table on each line (table.h)
  kPresence = 3,  // where the worker stands in rounds
  kSave = 4,      // text: the directory of a checkpoint, which this server adds its part to
  kLoad = 5,      // text: the directory
  kSnapshot = 6,
  kShrink = 7,   // answer: how many rows went
  kScan = 8,     // the rows of a shard
  kTables = 9,   // answer: lines: where the values come from (values.h), the folder, the tables
  kStats = 10,   // answer: text for people and Prometheus
  kSaved = 11,   // all servers have saved: the next delta goes on from there
  kCheck = 12,   // whether a kLoad would go well
  kValues = 13,  // text: the id of the first values, which are there now
};

struct Sender {
  int rank = 0;
  int workers = 1;
};

// Rows of a sparse table, or the slice of a dense one.
struct Pull {
  uint32_t table = 0;
  bool dense = false;
  bool create = true;  // rows that are not there
  std::span<const int64_t> keys = {};
};

// A step of a worker, as far as one server is concerned. Borrows its arrays.
struct Step {
  bool has_push = false;
  bool in_round = false;  // the push waits for those of the other workers
  Push push = {};
  std::vector<Pull> pulls = {};
};

struct Presence {
  enum State { kPresent, kAway, kLeft };

  int rank = 0;
  // Which of two counts: the higher attempt of the process, then the higher version.
  uint64_t attempt = 0;
  uint64_t version = 0;
  State state = kPresent;

  bool newer_than(const Presence& other) const {
    return attempt != other.attempt ? attempt > other.attempt : version > other.version;
  }
  bool operator==(const Presence&) const = default;
};
// "attempt version state", as it stands in the job's store.
std::string print(const Presence& presence);
Presence parse_presence(int rank, std::string_view text);

struct Request {
  RequestKind kind = RequestKind::kStep;
  Sender sender = {};
  Step step = {};
  std::string_view text = {};
  Presence presence = {};
  SaveOptions files = {};
  uint32_t table = 0;  // of shrink and scan
  Shrink shrink = {};
  int shard = 0;
};

// A step to be sent: the values of a change may lie in several places.
struct ScatteredStep {
  bool in_round = false;
  std::vector<ScatteredChange> changes = {};  // none: no push
  std::vector<Pull> pulls = {};
};

size_t encoded_size(const ScatteredStep& step);
// The push has the id {}: set_push_id() gives it one when its turn has come.
void encode(const Sender& sender, const ScatteredStep& step, std::span<std::byte> to);
void set_push_id(std::span<std::byte> request, const PushId& id);

// All requests but steps.
std::vector<std::byte> encode(const Request& request);

// Borrows from `bytes`. REQUIRES: bytes start at a multiple of 8
Request decode_request(std::span<const std::byte> bytes);

}  // namespace flotilla::ps
