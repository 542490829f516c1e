// flotilla/ps/change.h
//
// What a push does, as a value and as bytes. The bytes are the body of a record in the log, and may
// be the body of a request: they are checked as those of an attacker. Little endian; every
// part starts at a multiple of 8 bytes, so that arrays are used where they lie.
//
//   push   := ids:u32 changes:u32 id* change*
//   id     := worker:u64 sequence:u64
//   change := table:u32 action:u32 lr:f32 scale:f32 keys:u64 floats:u64
//             key:i64[keys] value:f32[floats] zeros, up to a multiple of 8

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/ps/sparse_part.h"

namespace flotilla::ps {

// Names a push for ever. A worker that is started again is another worker; its sequence counts its
// pushes to this server from 1.
struct PushId {
  uint64_t worker = 0;
  uint64_t sequence = 0;

  bool operator==(const PushId&) const = default;
};

// One table's part of a push. Borrows its arrays.
struct Change {
  uint32_t table = 0;
  Action action = Action::kGradient;
  float lr = 0;
  float scale = 1;                     // 1 / workers where a round's gradients are averaged
  std::span<const int64_t> keys = {};  // of a sparse table
  std::span<const float> values = {};  // sparse: width floats for each key; dense: the slice
};

// Several ids where a round of synchronous workers is applied as one.
struct Push {
  std::vector<PushId> ids = {};
  std::vector<Change> changes = {};
  // What it was decoded from, where it was: what encode() gives. REQUIRES: the rest is unchanged
  std::span<const std::byte> bytes = {};
};

// A change whose values lie one behind the other only once they are encoded: `change.values` is
// empty.
struct ScatteredChange {
  Change change = {};
  std::vector<std::span<const float>> pieces = {};
};

std::vector<std::byte> encode(const Push& push);
size_t encoded_size(std::span<const PushId> ids, std::span<const ScatteredChange> changes);
// REQUIRES: `to` has encoded_size() bytes
void encode(std::span<const PushId> ids, std::span<const ScatteredChange> changes,
            std::span<std::byte> to);
// Where the first id of a push lies in its bytes.
inline constexpr size_t kFirstIdOffset = 8;
// Borrows from `bytes`. REQUIRES: bytes start at a multiple of 8
Push decode_push(std::span<const std::byte> bytes);

}  // namespace flotilla::ps
