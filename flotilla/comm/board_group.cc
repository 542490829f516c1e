#include "flotilla/comm/board_group.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "flotilla/base/error.h"
#include "flotilla/comm/reduce.h"
#include "flotilla/comm/slices.h"

namespace flotilla::comm {
namespace {

// Up to here a second turn costs more than that every rank computes everything.
constexpr int64_t kOneTurnBytes = 2 << 10;

// Copies to a slot. What is more than a few lines goes past the cache: the others would otherwise
// fetch each line from this core, which takes twice as long.
void show_copy(const char* from, char* slot, int64_t bytes) {
  int64_t done = 0;
#if defined(__x86_64__)
  if (bytes > kOneTurnBytes) {
    for (; done + 16 <= bytes; done += 16) {
      const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + done));
      _mm_stream_si128(reinterpret_cast<__m128i*>(slot + done), value);
    }
    _mm_sfence();
  }
#endif
  std::memcpy(slot + done, from + done, static_cast<size_t>(bytes - done));
}

}  // namespace

BoardGroup::BoardGroup(std::shared_ptr<void> memory, std::vector<int> ranks, int rank,
                       std::unique_ptr<Sight> sight)
    : Group(std::move(ranks), rank),
      memory_(std::move(memory)),
      board_(memory_.get(), rank, size()),
      sight_(std::move(sight)),
      check_([this](int waits_for, const std::string& why_left) {
        if (aborted()) throw_aborted();
        if (!why_left.empty()) lose(why_left);
        if (const std::string why = sight_->gone(rank_of(waits_for)); !why.empty()) lose(why);
      }),
      ins_(static_cast<size_t>(size())),
      outs_(static_cast<size_t>(size())) {}

bool BoardGroup::show(const void* in, int64_t in_bytes, const void* out, int64_t out_bytes) {
  const Place place = sight_->show(in, in_bytes);
  board_.shown() = {.in = place, .out = in == out ? place : sight_->show(out, out_bytes)};
  turn();
  for (int r = 0; r < size(); ++r) {
    if (board_.shown_by(r).in.region == 0 || board_.shown_by(r).out.region == 0) return false;
  }
  return true;
}

void BoardGroup::do_all_reduce(const void* in, void* out, int64_t count, DType dtype, Reduce how) {
  const int64_t element = size_of(dtype);
  const int64_t bytes = count * element;
  if (bytes > kOneTurnBytes && show(in, bytes, out, bytes)) {
    if (const int64_t n = find_slices(count, element); n > 0) {
      combine(ins_, outs_, n, dtype, how, size());
    }
    return turn();  // nobody goes on before its memory is complete
  }
  for (int64_t at = 0; at < bytes; at += Board::kSlotBytes) {
    const int64_t piece = std::min(Board::kSlotBytes, bytes - at);
    show_copy(bytes_at(in, at), board_.slot(), piece);
    turn();
    for (int r = 0; r < size(); ++r) ins_[static_cast<size_t>(r)] = board_.slot_of(r);
    void* const to = bytes_at(out, at);
    combine(ins_, {&to, 1}, piece / element, dtype, how, size());
  }
}

bool BoardGroup::all_reduce_around(const void* in, void* out, int64_t count, DType dtype,
                                   Reduce how, const Between& between) {
  if (aborted()) throw_aborted();
  const int64_t element = size_of(dtype);
  const int64_t bytes = count * element;
  if (!show(in, bytes, out, bytes)) return false;
  if (const int64_t n = find_slices(count, element); n > 0) {
    void* const mine = outs_[static_cast<size_t>(rank())];
    combine(ins_, {&mine, 1}, n, dtype, how, size());
    between(mine, n);
    for (void* other : outs_) copy(mine, other, n * element);
  }
  turn();
  return true;
}

int64_t BoardGroup::find_slices(int64_t count, int64_t element) {
  const int64_t begin = slice_begin(count, element, rank(), size());
  const int64_t end = slice_begin(count, element, rank() + 1, size());
  for (int r = 0; r < size() && begin < end; ++r) {
    const Board::Shown& shown = board_.shown_by(r);
    const auto i = static_cast<size_t>(r);
    char* const in = sight_->see(rank_of(r), shown.in, count * element);
    char* const out =
        shown.in == shown.out ? in : sight_->see(rank_of(r), shown.out, count * element);
    ins_[i] = in + begin * element;
    outs_[i] = out + begin * element;
  }
  return end - begin;
}

void BoardGroup::do_reduce_scatter(const void* in, void* out, int64_t count, DType dtype,
                                   Reduce how) {
  const int64_t element = size_of(dtype);
  const int64_t part = count * element;
  if (show(in, part * size(), in, part * size())) {
    for (int r = 0; r < size(); ++r) {
      ins_[static_cast<size_t>(r)] =
          sight_->see(rank_of(r), board_.shown_by(r).in, part * size()) + part * rank();
    }
    combine(ins_, {&out, 1}, count, dtype, how, size());
    return turn();
  }
  // A slot holds a piece for every rank.
  const int64_t room = Board::kSlotBytes / size() / 64 * 64;
  for (int64_t at = 0; at < part; at += room) {
    const int64_t piece = std::min(room, part - at);
    for (int r = 0; r < size(); ++r) {
      show_copy(bytes_at(in, part * r + at), board_.slot() + r * room, piece);
    }
    turn();
    for (int r = 0; r < size(); ++r) {
      ins_[static_cast<size_t>(r)] = board_.slot_of(r) + rank() * room;
    }
    void* const to = bytes_at(out, at);
    combine(ins_, {&to, 1}, piece / element, dtype, how, size());
  }
}

void BoardGroup::do_broadcast(void* data, int64_t bytes, int root) {
  // Only the root's memory must be seen, so the others show what is always there.
  if (bytes > kOneTurnBytes) {
    board_.shown() = {.in = sight_->show(data, bytes)};
    turn();
    const Place place = board_.shown_by(root).in;
    if (place.region != 0) {
      if (rank() != root) copy(sight_->see(rank_of(root), place, bytes), data, bytes);
      return turn();
    }
  }
  for (int64_t at = 0; at < bytes; at += Board::kSlotBytes) {
    const int64_t piece = std::min(Board::kSlotBytes, bytes - at);
    char* mine = bytes_at(data, at);
    if (rank() == root) show_copy(mine, board_.slot(), piece);
    turn();
    if (rank() != root) std::memcpy(mine, board_.slot_of(root), static_cast<size_t>(piece));
  }
}

void BoardGroup::do_all_gather(const void* in, void* out, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += Board::kSlotBytes) {
    const int64_t piece = std::min(Board::kSlotBytes, bytes - at);
    show_copy(bytes_at(in, at), board_.slot(), piece);
    turn();
    for (int r = 0; r < size(); ++r) {
      std::memcpy(bytes_at(out, bytes * r + at), board_.slot_of(r), static_cast<size_t>(piece));
    }
  }
}

void BoardGroup::do_all_to_all(const void* in, void* out, int64_t bytes) {
  const int64_t room = Board::kSlotBytes / size() / 64 * 64;
  for (int64_t at = 0; at < bytes; at += room) {
    const int64_t piece = std::min(room, bytes - at);
    for (int r = 0; r < size(); ++r) {
      show_copy(bytes_at(in, bytes * r + at), board_.slot() + r * room, piece);
    }
    turn();
    for (int r = 0; r < size(); ++r) {
      std::memcpy(bytes_at(out, bytes * r + at), board_.slot_of(r) + rank() * room,
                  static_cast<size_t>(piece));
    }
  }
}

// Nothing is a piece, too.
void BoardGroup::do_send(const void* data, int64_t bytes, int to) {
  int64_t at = 0;
  do {
    const int64_t piece = std::min(Board::kMailBytes, bytes - at);
    board_.post(to, bytes_at(data, at), piece, call(), check_);
    at += piece;
  } while (at < bytes);
}

void BoardGroup::do_recv(void* data, int64_t bytes, int from) {
  int64_t at = 0;
  do {
    const Call& theirs = board_.posted_by(from, check_);
    if (!call().fits(theirs)) refuse_other(from, theirs);
    const int64_t piece = std::min(Board::kMailBytes, bytes - at);
    board_.take(from, bytes_at(data, at), piece);
    at += piece;
  } while (at < bytes);
}

void BoardGroup::do_barrier() { turn(); }

}  // namespace flotilla::comm
