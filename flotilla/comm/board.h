// flotilla/comm/board.h
//
// Where ranks that share memory meet: a block of memory that all of them see, laid out for one
// group. Each rank has a seat with a counter that only it raises, two slots for what it shows to
// the others, and a mailbox for each rank that sends to it.
//
// A turn is: fill your slot, raise your counter, wait until everybody's counter is there, read the
// others' slots. Turns alternate between two slots, and nobody can be two turns ahead of a rank
// that still reads, so that one wait per turn is enough.
//
// Beside its counter a rank shows what it is about to do: whoever waits for the counter reads that
// line anyway. A rank that will take no more turns says why.
//
// Waiting spins for a moment and then sleeps on a futex. Where the rank that is waited for was last
// seen on this very core, spinning would only keep it from working: then it sleeps at once.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "flotilla/comm/call.h"

namespace flotilla::comm {

// Where memory of a rank lies for its peers.
struct Place {
  uint64_t region = 0;  // 0: they cannot see it
  uint64_t offset = 0;

  bool operator==(const Place&) const = default;
};

class Board {
 public:
  static constexpr int64_t kSlotBytes = 256 << 10;
  static constexpr int64_t kMailBytes = 64 << 10;

  struct Shown {
    Place in = {};
    Place out = {};
  };

  // What waits look at while they sleep; throws to end them. `why_left` is of the rank that is
  // waited for; "": it is still there.
  using Check = std::function<void(int waits_for, const std::string& why_left)>;

  static int64_t bytes(int size);
  // `memory` is zeroed, aligned to a page and the same for all ranks of the group.
  Board(void* memory, int rank, int size);

  // My slot and what I show in the turn that is about to be.
  char* slot() { return slot_of(rank_, turn_ + 1); }
  Shown& shown() { return seat(rank_).shown[(turn_ + 1) % 2]; }
  // Shows them and waits for the others; slots of the turn can then be read. The first rank that
  // makes another call; -1: all make this one.
  int turn(const Call& call, const Check& check);
  const Call& call_of(int rank) const {
    return const_cast<Board*>(this)->seat(rank).turn.calls[turn_ % 2];
  }
  const char* slot_of(int rank) const { return const_cast<Board*>(this)->slot_of(rank, turn_); }
  const Shown& shown_by(int rank) const {
    return const_cast<Board*>(this)->seat(rank).shown[turn_ % 2];
  }

  // One piece of at most kMailBytes, of this call.
  void post(int to, const char* data, int64_t bytes, const Call& call, const Check& check);
  // Waits for the next piece; the call that it is of.
  const Call& posted_by(int from, const Check& check);
  // Takes it. REQUIRES: posted_by() has returned
  void take(int from, char* data, int64_t bytes);

  // This rank takes no more turns; the first reason counts. Whoever sleeps on this board looks at
  // its check again. From any thread.
  void leave(const std::string& why);

 private:
  // Counters have a cache line of their own: others spin on them.
  struct alignas(64) Counter {
    std::atomic<uint32_t> value = 0;
    std::atomic<uint32_t> sleepers = 0;
    std::atomic<int> core = -1;  // on which it was raised
    Call calls[2] = {};          // of a turn and of the one before; of mail, the first
  };
  static_assert(sizeof(Counter) == 64);
  enum Presence : uint32_t { kHere, kLeaves, kLeft };
  struct alignas(64) Seat {
    Counter turn;
    Shown shown[2];
    std::atomic<uint32_t> presence = kHere;
    char why_left[1020] = {};  // ends with a zero
  };
  struct alignas(64) Mail {
    Counter posted;
    Counter taken;
    alignas(64) char data[kMailBytes];
  };

  Seat& seat(int rank) { return reinterpret_cast<Seat*>(memory_)[rank]; }
  Mail& mail(int from, int to);
  char* slot_of(int rank, uint32_t turn);
  static void raise(Counter& counter, uint32_t value);
  void wait_for(Counter& counter, uint32_t value, int whose, const Check& check);
  std::string why_left(int rank);

  char* const memory_;
  const int rank_;
  const int size_;
  const int spins_;
  uint32_t turn_ = 0;
};

}  // namespace flotilla::comm
