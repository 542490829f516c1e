#include "flotilla/comm/gloo/gloo_group.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/comm/reduce.h"
#include "flotilla/rpc/outage.h"

namespace flotilla::comm {
namespace {

using Clock = std::chrono::steady_clock;

// What is on its way at once, twice: while one piece is added up, the next one travels.
constexpr int64_t kPieceBytes = 4 << 20;

constexpr int64_t kLine = 64;  // slices are cut in whole ones

constexpr std::chrono::milliseconds kLook{5};

}  // namespace

GlooGroup::GlooGroup(std::shared_ptr<Mesh> mesh, std::vector<int> ranks, int rank, uint64_t channel)
    : Group(std::move(ranks), rank),
      mesh_(std::move(mesh)),
      firsts_(size()),
      transfers_(*mesh_, channel) {}

void GlooGroup::move(int with, const Part& part) {
  try {
    transfers_.start(rank_of(with), part);
  } catch (const Transfers::Lost& connection) {
    lost(connection);
  }
}

void GlooGroup::arrive(int64_t mark) {
  try {
    // Whoever aborts from now on sees all of it.
    if (!aborted() && transfers_.wait(mark)) return;
  } catch (const Transfers::Lost& connection) {
    lost(connection);
  }
  transfers_.forget();
  throw_aborted();
}

void GlooGroup::lost(const Transfers::Lost& connection) {
  transfers_.forget();
  const int rank = connection.rank;
  if (const std::string said = mesh_->why_left(rank); !said.empty() && !aborted()) lose(said);
  // The store takes a moment to be sure that another host's process is gone, and then says which.
  const auto until = Clock::now() + kForTheLauncher + rpc::Outage::from_environment().come_back;
  while (!aborted() && Clock::now() < until) std::this_thread::sleep_for(kLook);
  if (aborted()) throw_aborted();
  if (const std::string known = mesh_->why_gone(rank); !known.empty()) lose(known);
  lose(fmt::format("the connection to rank {} on host {} is lost: {}", rank, mesh_->address(rank),
                   connection.what()));
}

void GlooGroup::wake() { transfers_.interrupt(); }

template <typename F>
void GlooGroup::for_others(F&& work) {
  // Each begins with the next rank, so that not everybody sends to the same one first.
  for (int i = 1; i < size(); ++i) {
    const int r = (rank() + i) % size();
    if (mesh_->connected(rank_of(r))) work(r);
  }
}

template <typename F>
int64_t GlooGroup::start(F&& part) {
  for_others([&](int r) { move(r, part(r)); });
  return transfers_.started();
}

void GlooGroup::start_call(int with, const Part& part, bool follows) {
  move(with, firsts_.write(with, {.call = call(), .follows = follows}, part));
}

void GlooGroup::refuse_difference(bool followed) {
  int other = -1;
  for (int r = 0; r < size(); ++r) {
    const bool met = r != rank() && mesh_->connected(rank_of(r));
    if (met && other < 0 && !call().fits(firsts_.head_from(r).call)) other = r;
  }
  if (other < 0) return;
  // What somebody has sent beside the call is taken, and answered where it waits for that, so that
  // the next call finds nothing of this one.
  char nothing = 0;
  if (!followed) {
    char* const unused = scratch_.at_least(piece_room() * size());
    start([&](int r) {
      if (firsts_.head_from(r).follows == 0) return Part{};
      return Part{&nothing, unused + piece_room() * r, 1, piece_room()};
    });
  }
  arrive(transfers_.started());
  refuse_other(other, firsts_.head_from(other).call);
}

template <typename F>
void GlooGroup::call_and_exchange(int64_t longest, F&& part) {
  const bool is_short = longest <= FirstMessages::kShortBytes;
  for_others([&](int r) { start_call(r, is_short ? part(r) : Part{}, false); });
  arrive(transfers_.started());
  refuse_difference(false);
  if (!is_short) return arrive(start(part));
  for_others([&](int r) { firsts_.take_part(r, part(r)); });
}

void GlooGroup::trade(const std::vector<Part>& parts) {
  if (aborted()) throw_aborted();
  int64_t longest = 0;
  for (const Part& part : parts) longest = std::max({longest, part.send_bytes, part.recv_bytes});
  call_and_exchange(longest, [&](int r) { return parts[static_cast<size_t>(r)]; });
}

void GlooGroup::call_and_move(int with, const Part& part) {
  const bool is_short = part.send_bytes + part.recv_bytes <= FirstMessages::kShortBytes;
  start_call(with, is_short ? part : Part{}, false);
  arrive(transfers_.started());
  if (const Call theirs = firsts_.head_from(with).call; !call().fits(theirs))
    refuse_other(with, theirs);
  if (is_short) return firsts_.take_part(with, part);
  move(with, part);
  arrive(transfers_.started());
}

void GlooGroup::combine_with(const char* others, int64_t room, const char* mine, void* out,
                             int64_t count, DType dtype, Reduce how) {
  std::vector<const void*> ins;
  for (int r = 0; r < size(); ++r) ins.push_back(r == rank() ? mine : others + room * r);
  combine(ins, {&out, 1}, count, dtype, how, size());
}

void GlooGroup::do_all_reduce(const void* in, void* out, int64_t count, DType dtype, Reduce how) {
  const int64_t bytes = count * size_of(dtype);
  if (bytes > FirstMessages::kShortBytes) return all_reduce_in_pieces(in, out, count, dtype, how);
  char* const others = scratch_.at_least(bytes * size());
  call_and_exchange(bytes, [&](int r) {
    return Part{bytes_at(in, 0), others + bytes * r, bytes, bytes};
  });
  combine_with(others, bytes, bytes_at(in, 0), out, count, dtype, how);
}

// Between two ranks one step sends no more than two would.
int64_t GlooGroup::piece_room() const {
  return size() == 2 ? kPieceBytes : (kPieceBytes / kLine / size() + 1) * kLine;
}

void GlooGroup::all_reduce_in_pieces(const void* in, void* out, int64_t count, DType dtype,
                                     Reduce how) {
  const int64_t element = size_of(dtype);
  const bool one_step = size() == 2;
  const int64_t most = std::min(count, kPieceBytes / element);
  const int64_t pieces = (count + most - 1) / most;
  char* const others = scratch_.at_least(2 * piece_room() * size());
  const auto piece = [&](int64_t k) {
    return Piece{.in = bytes_at(in, k * most * element),
                 .out = bytes_at(out, k * most * element),
                 .others = others + k % 2 * piece_room() * size(),
                 .count = std::min(most, count - k * most),
                 .element = element,
                 .slices = one_step ? 1 : size()};
  };
  // The first piece is on its way while calls are compared, and each next one while one is added
  // up.
  for_others([&](int r) { start_call(r, {}, true); });
  const int64_t called = transfers_.started();
  int64_t mark = start_piece(piece(0));
  arrive(called);
  refuse_difference(true);
  for (int64_t k = 0; k < pieces; ++k) {
    const int64_t next = k + 1 < pieces ? start_piece(piece(k + 1)) : mark;
    arrive(mark);
    mark = next;
    const Piece p = piece(k);
    const int mine = one_step ? 0 : rank();
    char* const sum = p.out + p.begin(mine);
    const int64_t bytes = p.bytes(mine);
    combine_with(p.others, piece_room(), p.in + p.begin(mine), sum, bytes / element, dtype, how);
    if (one_step) continue;
    start([&](int r) { return Part{sum, p.out + p.begin(r), bytes, p.bytes(r)}; });
  }
  arrive(transfers_.started());
}

int64_t GlooGroup::start_piece(const Piece& p) {
  // Everybody sends slice r to rank r, which sums it; one slice goes to all. There is always a
  // message, and room for the longest: what the others call may be known only later.
  return start([&](int r) {
    const int slice = p.slices == 1 ? 0 : r;
    const int64_t bytes = p.bytes(slice);
    return Part{.from = bytes > 0 ? p.in + p.begin(slice) : p.in,
                .to = p.others + piece_room() * r,
                .send_bytes = std::max(bytes, int64_t{1}),
                .recv_bytes = piece_room()};
  });
}

void GlooGroup::do_reduce_scatter(const void* in, void* out, int64_t count, DType dtype,
                                  Reduce how) {
  const int64_t bytes = count * size_of(dtype);
  char* others = scratch_.at_least(bytes * size());
  call_and_exchange(bytes, [&](int r) {
    return Part{bytes_at(in, bytes * r), others + bytes * r, bytes, bytes};
  });
  combine_with(others, bytes, bytes_at(in, bytes * rank()), out, count, dtype, how);
}

void GlooGroup::do_broadcast(void* data, int64_t bytes, int root) {
  const bool gives = rank() == root;
  char* all = static_cast<char*>(data);
  if (bytes <= FirstMessages::kShortBytes || size() == 2) {
    return call_and_exchange(bytes, [&](int r) {
      return Part{all, all, gives ? bytes : 0, r == root ? bytes : 0};
    });
  }
  // The root gives each rank a slice, and the ranks give them to each other: it sends everything
  // once, not once for each.
  const auto begin = [&](int r) { return slice_begin(bytes, 1, r, size()); };
  const auto length = [&](int r) { return begin(r + 1) - begin(r); };
  const int64_t mine = length(rank());
  call_and_exchange(bytes, [&](int r) {
    return Part{all + begin(r), all + begin(rank()), gives ? length(r) : 0, r == root ? mine : 0};
  });
  arrive(start([&](int r) {
    return Part{all + begin(rank()), all + begin(r), r == root ? 0 : mine, gives ? 0 : length(r)};
  }));
}

void GlooGroup::do_all_gather(const void* in, void* out, int64_t bytes) {
  call_and_exchange(bytes, [&](int r) {
    return Part{bytes_at(in, 0), bytes_at(out, bytes * r), bytes, bytes};
  });
  copy(in, bytes_at(out, bytes * rank()), bytes);
}

void GlooGroup::do_all_to_all(const void* in, void* out, int64_t bytes) {
  call_and_exchange(bytes, [&](int r) {
    return Part{bytes_at(in, bytes * r), bytes_at(out, bytes * r), bytes, bytes};
  });
  copy(bytes_at(in, bytes * rank()), bytes_at(out, bytes * rank()), bytes);
}

void GlooGroup::do_send(const void* data, int64_t bytes, int to) {
  call_and_move(to, {.from = bytes_at(data, 0), .send_bytes = bytes});
}

void GlooGroup::do_recv(void* data, int64_t bytes, int from) {
  call_and_move(from, {.to = bytes_at(data, 0), .recv_bytes = bytes});
}

void GlooGroup::do_barrier() {
  call_and_exchange(0, [](int) { return Part{}; });
}

}  // namespace flotilla::comm
