#include "flotilla/comm/gloo/gloo_group.h"

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/comm/reduce.h"

namespace flotilla::comm {
namespace {

using Clock = std::chrono::steady_clock;

// Up to here a second step takes longer than that everybody sends everything to everybody.
constexpr int64_t kOneStepBytes = 16 << 10;
// What is on its way at once, twice: while one piece is added up, the next one travels.
constexpr int64_t kPieceBytes = 4 << 20;

// The launcher tells within this time why a rank is gone, which is better than to say that its
// connection was closed.
constexpr std::chrono::milliseconds kForTheLauncher{500};
constexpr std::chrono::milliseconds kLook{5};

const char* bytes_at(const void* data, int64_t at) { return static_cast<const char*>(data) + at; }
char* bytes_at(void* data, int64_t at) { return static_cast<char*>(data) + at; }

}  // namespace

GlooGroup::GlooGroup(std::shared_ptr<Mesh> mesh, std::vector<int> ranks, int rank, uint64_t channel)
    : Group(rank, static_cast<int>(ranks.size())),
      mesh_(std::move(mesh)),
      ranks_(std::move(ranks)),
      channel_(channel) {}

GlooGroup::~GlooGroup() = default;

void GlooGroup::move(int with, const Part& part) {
  const int peer = ranks_[static_cast<size_t>(with)];
  const auto add = [&](std::unique_ptr<Mesh::Transfer> transfer) {
    const MutexLock lock(moving_mutex_);
    moving_.push_back({with, std::move(transfer)});
    ++started_;
  };
  try {
    if (part.recv_bytes > 0) add(mesh_->recv(peer, channel_, part.to, part.recv_bytes));
    if (part.send_bytes > 0) add(mesh_->send(peer, channel_, part.from, part.send_bytes));
  } catch (const std::exception& error) {
    lost(with, error.what());
  }
}

void GlooGroup::arrive(int64_t mark) {
  // Whoever aborts from now on sees all of it.
  bool there = !aborted();
  while (there && arrived_ < mark) {
    Moving* next = nullptr;
    {
      const MutexLock lock(moving_mutex_);
      next = &moving_.front();
    }
    try {
      there = next->transfer->wait();
    } catch (const std::exception& error) {
      lost(next->with, error.what());
    }
    const MutexLock lock(moving_mutex_);
    moving_.pop_front();
    ++arrived_;
  }
  if (there) return;
  forget();
  throw_aborted();
}

void GlooGroup::forget() {
  const MutexLock lock(moving_mutex_);
  arrived_ = started_;
  moving_.clear();
}

void GlooGroup::lost(int member, const std::string& why) {
  forget();
  const Clock::time_point until = Clock::now() + kForTheLauncher;
  while (!aborted() && Clock::now() < until) std::this_thread::sleep_for(kLook);
  if (aborted()) throw_aborted();
  const int rank = ranks_[static_cast<size_t>(member)];
  lose(fmt::format("the connection to rank {} on host {} is lost: {}", rank, mesh_->address(rank),
                   why));
}

void GlooGroup::wake() {
  const MutexLock lock(moving_mutex_);
  for (const Moving& moving : moving_) moving.transfer->interrupt();
}

template <typename F>
int64_t GlooGroup::start(F&& part) {
  // Each begins with the next rank, so that not everybody sends to the same one first.
  for (int i = 1; i < size(); ++i) {
    const int r = (rank() + i) % size();
    if (mesh_->connected(ranks_[static_cast<size_t>(r)])) move(r, part(r));
  }
  return started_;
}

template <typename F>
void GlooGroup::exchange(F&& part) {
  arrive(start(part));
}

std::vector<GlooGroup::Head> GlooGroup::compare_calls(const void* data, int64_t bytes) {
  std::vector<Head> heads(static_cast<size_t>(size()), {.call = call()});
  Head mine = {.call = call()};
  if (bytes > 0) std::memcpy(mine.data, data, static_cast<size_t>(bytes));
  exchange([&](int r) {
    char* const theirs = reinterpret_cast<char*>(&heads[static_cast<size_t>(r)]);
    return Part{reinterpret_cast<const char*>(&mine), theirs, sizeof mine, sizeof mine};
  });
  for (int r = 0; r < size(); ++r) {
    const Call& theirs = heads[static_cast<size_t>(r)].call;
    if (theirs != call()) refuse_other(r, theirs);
  }
  return heads;
}

char* GlooGroup::scratch(int64_t bytes) {
  if (std::cmp_less(scratch_.size(), bytes)) scratch_.resize(static_cast<size_t>(bytes));
  return scratch_.data();
}

void GlooGroup::combine_with(const char* others, const char* mine, void* out, int64_t count,
                             DType dtype, Reduce how) {
  const int64_t bytes = count * size_of(dtype);
  std::vector<const void*> ins;
  for (int r = 0; r < size(); ++r) ins.push_back(r == rank() ? mine : others + bytes * r);
  combine(ins, {&out, 1}, count, dtype, how, size());
}

void GlooGroup::do_all_reduce(const void* in, void* out, int64_t count, DType dtype, Reduce how) {
  const int64_t element = size_of(dtype);
  // Between two ranks one step sends no more than two would.
  const bool one_step = size() == 2 || count * element <= kOneStepBytes;
  const int64_t most = std::min(count, kPieceBytes / element);
  const int64_t pieces = (count + most - 1) / most;
  const int64_t room = (one_step ? most : most / size() + 64) * element * size();
  char* const others = scratch(2 * room);
  const auto piece = [&](int64_t k) {
    return Piece{.in = bytes_at(in, k * most * element),
                 .out = bytes_at(out, k * most * element),
                 .others = others + k % 2 * room,
                 .count = std::min(most, count - k * most),
                 .element = element,
                 .slices = one_step ? 1 : size()};
  };
  // The next piece is on its way while this one is added up.
  int64_t mark = start_piece(piece(0));
  for (int64_t k = 0; k < pieces; ++k) {
    const int64_t next = k + 1 < pieces ? start_piece(piece(k + 1)) : mark;
    arrive(mark);
    mark = next;
    const Piece p = piece(k);
    const int mine = one_step ? 0 : rank();
    char* const sum = p.out + p.begin(mine);
    const int64_t bytes = p.bytes(mine);
    combine_with(p.others, p.in + p.begin(mine), sum, bytes / element, dtype, how);
    if (one_step) continue;
    start([&](int r) { return Part{sum, p.out + p.begin(r), bytes, p.bytes(r)}; });
  }
  arrive(started_);
}

int64_t GlooGroup::start_piece(const Piece& p) {
  if (p.slices == 1) {
    return start([&](int r) {
      return Part{p.in, p.others + p.bytes(0) * r, p.bytes(0), p.bytes(0)};
    });
  }
  // Everybody sends slice r to rank r, which sums it.
  const int64_t mine = p.bytes(rank());
  return start([&](int r) {
    return Part{p.in + p.begin(r), p.others + mine * r, p.bytes(r), mine};
  });
}

void GlooGroup::do_reduce_scatter(const void* in, void* out, int64_t count, DType dtype,
                                  Reduce how) {
  compare_calls();
  const int64_t bytes = count * size_of(dtype);
  char* others = scratch(bytes * size());
  exchange([&](int r) { return Part{bytes_at(in, bytes * r), others + bytes * r, bytes, bytes}; });
  combine_with(others, bytes_at(in, bytes * rank()), out, count, dtype, how);
}

void GlooGroup::do_broadcast(void* data, int64_t bytes, int root) {
  const bool gives = rank() == root;
  char* all = static_cast<char*>(data);
  if (bytes <= kOneStepBytes || size() == 2) {
    return exchange([&](int r) {
      return Part{all, all, gives ? bytes : 0, r == root ? bytes : 0};
    });
  }
  // The root gives each rank a slice, and the ranks give them to each other: it sends everything
  // once, not once for each.
  const auto begin = [&](int r) { return slice_begin(bytes, 1, r, size()); };
  const auto length = [&](int r) { return begin(r + 1) - begin(r); };
  const int64_t mine = length(rank());
  exchange([&](int r) {
    return Part{all + begin(r), all + begin(rank()), gives ? length(r) : 0, r == root ? mine : 0};
  });
  exchange([&](int r) {
    return Part{all + begin(rank()), all + begin(r), r == root ? 0 : mine, gives ? 0 : length(r)};
  });
}

void GlooGroup::do_all_gather(const void* in, void* out, int64_t bytes) {
  if (const bool fits = std::cmp_less_equal(bytes, sizeof Head::data); fits) {
    const std::vector<Head> heads = compare_calls(in, bytes);
    for (int r = 0; r < size(); ++r) {
      if (!mesh_->connected(rank_of(r))) continue;
      std::memcpy(bytes_at(out, bytes * r), heads[static_cast<size_t>(r)].data,
                  static_cast<size_t>(bytes));
    }
  } else {
    compare_calls();
    exchange([&](int r) { return Part{bytes_at(in, 0), bytes_at(out, bytes * r), bytes, bytes}; });
  }
  std::memcpy(bytes_at(out, bytes * rank()), in, static_cast<size_t>(bytes));
}

void GlooGroup::do_all_to_all(const void* in, void* out, int64_t bytes) {
  compare_calls();
  exchange([&](int r) {
    return Part{bytes_at(in, bytes * r), bytes_at(out, bytes * r), bytes, bytes};
  });
  std::memcpy(bytes_at(out, bytes * rank()), bytes_at(in, bytes * rank()),
              static_cast<size_t>(bytes));
}

void GlooGroup::do_send(const void* data, int64_t bytes, int to) {
  move(to, {.from = bytes_at(data, 0), .send_bytes = bytes});
  arrive(started_);
}

void GlooGroup::do_recv(void* data, int64_t bytes, int from) {
  move(from, {.to = bytes_at(data, 0), .recv_bytes = bytes});
  arrive(started_);
}

void GlooGroup::do_barrier() { compare_calls(); }

}  // namespace flotilla::comm
