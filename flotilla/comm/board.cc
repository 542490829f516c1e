#include "flotilla/comm/board.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <thread>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace flotilla::comm {
namespace {

// About 50 µs: longer than ranks that compute the same thing are apart on a quiet machine, and
// about what two wake-ups cost. Ranks that share a core only keep each other from working.
constexpr int kSpins = 2000;
constexpr int kSpinsWhereCrowded = 20;
// How often a sleeper looks whether its peers are still there.
constexpr int64_t kLookNanoseconds = 50'000'000;

constexpr int64_t kPage = 4096;
int64_t whole_pages(int64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Counters wrap around.
bool reached(uint32_t counter, uint32_t value) {
  return static_cast<int32_t>(counter - value) >= 0;
}

void sleep_on(std::atomic<uint32_t>& word, uint32_t seen) {
  const timespec limit = {.tv_sec = 0, .tv_nsec = kLookNanoseconds};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void wake_on(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT32_MAX, nullptr, nullptr,
          0);
}

}  // namespace

Board::Board(void* memory, int rank, int size)
    : memory_(static_cast<char*>(memory)),
      rank_(rank),
      size_(size),
      spins_(std::cmp_greater(size, std::thread::hardware_concurrency()) ? kSpinsWhereCrowded
                                                                         : kSpins) {}

int64_t Board::bytes(int size) {
  const int64_t n = size;
  return whole_pages(n * static_cast<int64_t>(sizeof(Seat))) + n * 2 * kSlotBytes +
         n * n * whole_pages(sizeof(Mail));
}

char* Board::slot_of(int rank, uint32_t turn) {
  char* slots = memory_ + whole_pages(size_ * static_cast<int64_t>(sizeof(Seat)));
  return slots + (rank * 2 + static_cast<int64_t>(turn % 2)) * kSlotBytes;
}

Board::Mail& Board::mail(int from, int to) {
  char* mails = slot_of(0, 0) + int64_t{size_} * 2 * kSlotBytes;
  return *reinterpret_cast<Mail*>(mails + (int64_t{from} * size_ + to) * whole_pages(sizeof(Mail)));
}

int Board::turn(const Call& call, const Check& check) {
  ++turn_;
  seat(rank_).turn.calls[turn_ % 2] = call;
  raise(seat(rank_).turn, turn_);
  int other = -1;
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    wait_for(seat(r).turn, turn_, r, check);
    if (other < 0 && call_of(r) != call) other = r;
  }
  return other;
}

void Board::post(int to, const char* data, int64_t bytes, const Call& call, const Check& check) {
  Mail& box = mail(rank_, to);
  const uint32_t number = box.posted.value.load(std::memory_order_relaxed);
  wait_for(box.taken, number, to, check);  // the piece before this one
  if (bytes > 0) std::memcpy(box.data, data, static_cast<size_t>(bytes));
  box.posted.calls[0] = call;
  raise(box.posted, number + 1);
}

const Call& Board::posted_by(int from, const Check& check) {
  Mail& box = mail(from, rank_);
  wait_for(box.posted, box.taken.value.load(std::memory_order_relaxed) + 1, from, check);
  return box.posted.calls[0];
}

void Board::take(int from, char* data, int64_t bytes) {
  Mail& box = mail(from, rank_);
  if (bytes > 0) std::memcpy(data, box.data, static_cast<size_t>(bytes));
  raise(box.taken, box.taken.value.load(std::memory_order_relaxed) + 1);
}

void Board::raise(Counter& counter, uint32_t value) {
  // Sequentially consistent, as are the two accesses in wait_for: either the sleeper sees the new
  // value, or it is seen here.
  counter.core.store(::sched_getcpu(), std::memory_order_relaxed);
  counter.value.store(value);
  if (counter.sleepers.load() != 0) wake_on(counter.value);
}

void Board::wait_for(Counter& counter, uint32_t value, int whose, const Check& check) {
  if (reached(counter.value.load(std::memory_order_acquire), value)) return;
  const bool shares_core = counter.core.load(std::memory_order_relaxed) == ::sched_getcpu();
  for (int spin = shares_core ? spins_ : 0; spin < spins_; ++spin) {
    pause();
    if (reached(counter.value.load(std::memory_order_acquire), value)) return;
  }
  counter.sleepers.fetch_add(1);
  try {
    for (;;) {
      // In this order: it may come this far and leave then.
      const std::string why = why_left(whose);
      const uint32_t seen = counter.value.load();
      if (reached(seen, value)) break;
      check(whose, why);
      sleep_on(counter.value, seen);
    }
  } catch (...) {
    counter.sleepers.fetch_sub(1);
    throw;
  }
  counter.sleepers.fetch_sub(1);
}

std::string Board::why_left(int rank) {
  const Seat& theirs = seat(rank);
  return theirs.presence.load() == kLeft ? theirs.why_left : "";
}

void Board::leave(const std::string& why) {
  Seat& mine = seat(rank_);
  uint32_t here = kHere;
  if (mine.presence.compare_exchange_strong(here, kLeaves)) {
    why.copy(mine.why_left, sizeof mine.why_left - 1);
    mine.presence.store(kLeft);
  }
  for (int r = 0; r < size_; ++r) {
    wake_on(seat(r).turn.value);
    for (Mail* box : {&mail(rank_, r), &mail(r, rank_)}) {
      wake_on(box->posted.value);
      wake_on(box->taken.value);
    }
  }
}

}  // namespace flotilla::comm
