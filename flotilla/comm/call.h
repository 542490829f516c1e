// flotilla/comm/call.h
//
// What a member of a group is about to do. Members make the same calls in the same order; a backend
// shows each to the others, so that one that differs is named instead of waited for.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flotilla::comm {

enum class Verb : uint8_t {
  kNothing,
  kAllReduce,
  kReduce,
  kReduceScatter,
  kBroadcast,
  kAllGather,
  kGather,
  kScatter,
  kAllToAll,
  kSend,
  kRecv,
  kBarrier,
};

std::string_view name_of(Verb verb);

// Lies in memory of several processes.
struct Call {
  Verb verb = Verb::kNothing;
  uint8_t how = 0;    // a Reduce; 0 where nothing is reduced
  uint8_t dtype = 0;  // likewise
  uint8_t unused = 0;
  int32_t root = 0;  // or the other one of two
  int64_t bytes = 0;

  bool operator==(const Call&) const = default;
  // Whether what a member calls goes with this: the same, or the other side of a send.
  bool fits(const Call& theirs) const;
  // "all_gather of 12 bytes"
  std::string text() const;
};
static_assert(sizeof(Call) == 16);

}  // namespace flotilla::comm
