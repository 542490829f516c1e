#include "flotilla/comm/gloo/gloo_group.h"

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/comm/reduce.h"
#include "flotilla/comm/slices.h"

namespace flotilla::comm {
namespace {

using Clock = std::chrono::steady_clock;

// Up to here a second step takes longer than that everybody sends everything to everybody.
constexpr int64_t kOneStepBytes = 16 << 10;
// What is exchanged at once: bounds the memory for what others send.
constexpr int64_t kPieceBytes = 16 << 20;

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
  };
  try {
    if (part.recv_bytes > 0) add(mesh_->recv(peer, channel_, part.to, part.recv_bytes));
    if (part.send_bytes > 0) add(mesh_->send(peer, channel_, part.from, part.send_bytes));
  } catch (const std::exception& error) {
    lost(with, error.what());
  }
}

void GlooGroup::arrive() {
  // Whoever aborts from now on sees all of it.
  if (aborted()) {
    forget();
    throw_aborted();
  }
  size_t count = 0;
  {
    const MutexLock lock(moving_mutex_);
    count = moving_.size();
  }
  for (size_t i = 0; i < count; ++i) {
    Moving* next = nullptr;
    {
      const MutexLock lock(moving_mutex_);
      next = &moving_[i];
    }
    try {
      if (next->transfer->wait()) continue;
    } catch (const std::exception& error) {
      lost(next->with, error.what());
    }
    forget();
    throw_aborted();
  }
  forget();
}

void GlooGroup::forget() {
  const MutexLock lock(moving_mutex_);
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
void GlooGroup::exchange(F&& part) {
  // Each begins with the next rank, so that not everybody sends to the same one first.
  for (int i = 1; i < size(); ++i) {
    const int r = (rank() + i) % size();
    if (mesh_->connected(ranks_[static_cast<size_t>(r)])) move(r, part(r));
  }
  arrive();
}

char* GlooGroup::scratch(int64_t bytes) {
  if (std::cmp_less(scratch_.size(), bytes)) scratch_.resize(static_cast<size_t>(bytes));
  return scratch_.data();
}

// The parts of the others lie in the scratch, by rank.
void GlooGroup::combine_with(const char* mine, void* out, int64_t count, DType dtype, Reduce how) {
  const int64_t bytes = count * size_of(dtype);
  std::vector<const void*> ins;
  for (int r = 0; r < size(); ++r) {
    ins.push_back(r == rank() ? mine : bytes_at(scratch_.data(), bytes * r));
  }
  combine(ins, {&out, 1}, count, dtype, how, size());
}

void GlooGroup::do_all_reduce(const void* in, void* out, int64_t count, DType dtype, Reduce how) {
  const int64_t element = size_of(dtype);
  const int64_t most = kPieceBytes / element;
  for (int64_t at = 0; at < count; at += most) {
    all_reduce_piece(bytes_at(in, at * element), bytes_at(out, at * element),
                     std::min(most, count - at), dtype, how);
  }
}

void GlooGroup::all_reduce_piece(const char* in, char* out, int64_t count, DType dtype,
                                 Reduce how) {
  const int64_t element = size_of(dtype);
  const int64_t bytes = count * element;
  if (bytes <= kOneStepBytes) {
    char* others = scratch(bytes * size());
    exchange([&](int r) { return Part{in, others + bytes * r, bytes, bytes}; });
    return combine_with(in, out, count, dtype, how);
  }
  // Everybody sends slice r to rank r, which sums it and sends it to everybody.
  const auto begin = [&](int r) { return slice_begin(count, element, r, size()) * element; };
  const auto length = [&](int r) { return begin(r + 1) - begin(r); };
  const int64_t mine = length(rank());
  char* others = scratch(mine * size());
  exchange([&](int r) { return Part{in + begin(r), others + mine * r, length(r), mine}; });
  char* sum = out + begin(rank());
  combine_with(in + begin(rank()), sum, mine / element, dtype, how);
  exchange([&](int r) { return Part{sum, out + begin(r), mine, length(r)}; });
}

void GlooGroup::do_reduce_scatter(const void* in, void* out, int64_t count, DType dtype,
                                  Reduce how) {
  const int64_t bytes = count * size_of(dtype);
  char* others = scratch(bytes * size());
  exchange([&](int r) { return Part{bytes_at(in, bytes * r), others + bytes * r, bytes, bytes}; });
  combine_with(bytes_at(in, bytes * rank()), out, count, dtype, how);
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
  exchange([&](int r) { return Part{bytes_at(in, 0), bytes_at(out, bytes * r), bytes, bytes}; });
  std::memcpy(bytes_at(out, bytes * rank()), in, static_cast<size_t>(bytes));
}

void GlooGroup::do_all_to_all(const void* in, void* out, int64_t bytes) {
  exchange([&](int r) {
    return Part{bytes_at(in, bytes * r), bytes_at(out, bytes * r), bytes, bytes};
  });
  std::memcpy(bytes_at(out, bytes * rank()), bytes_at(in, bytes * rank()),
              static_cast<size_t>(bytes));
}

void GlooGroup::do_send(const void* data, int64_t bytes, int to) {
  move(to, {.from = bytes_at(data, 0), .send_bytes = bytes});
  arrive();
}

void GlooGroup::do_recv(void* data, int64_t bytes, int from) {
  move(from, {.to = bytes_at(data, 0), .recv_bytes = bytes});
  arrive();
}

void GlooGroup::do_barrier() {
  char unused = 0;
  char* others = scratch(size());
  exchange([&](int r) { return Part{&unused, others + r, 1, 1}; });
}

}  // namespace flotilla::comm
