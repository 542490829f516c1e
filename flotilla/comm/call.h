// flotilla/comm/call.h
//
// What a member of a group is about to do. Members make the same calls in the same order; a backend
// shows each to the others, so that one that differs is named instead of waited for.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "flotilla/base/dtype.h"

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

// What a tensor or an array consists of. Arrays of Python have more types than tensors do.
struct Element {
  char kind = 'u';    // 'b'ool, 'i'nteger, 'u'nsigned, 'f'loat, 'c'omplex, 'r': bfloat16
  uint8_t bytes = 1;  // of one

  constexpr Element() = default;
  constexpr Element(char kind, uint8_t bytes) : kind(kind), bytes(bytes) {}
  Element(DType dtype);  // NOLINT: a type of tensors is one of these

  bool operator==(const Element&) const = default;
  // "f32", "bool", "c64"
  std::string text() const;
};

// Bytes that nobody computes with.
inline constexpr Element kBytes = {};

// Lies in memory of several processes.
struct Call {
  Verb verb = Verb::kNothing;
  uint8_t how = 0;  // a Reduce; 0 where nothing is reduced
  Element element = {};
  int32_t root = 0;  // or the other one of two
  int64_t bytes = 0;

  bool operator==(const Call&) const = default;
  // Whether what a member calls goes with this: the same, or the other side of a send.
  bool fits(const Call& theirs) const;
  // "all_gather of 12 bytes f32"
  std::string text() const;
};
static_assert(sizeof(Call) == 16);

}  // namespace flotilla::comm
