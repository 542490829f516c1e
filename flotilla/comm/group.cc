#include "flotilla/comm/group.h"

#include <memory>

#include "flotilla/base/error.h"
#include "flotilla/comm/reduce.h"
#include "flotilla/comm/slices.h"

namespace flotilla::comm {
namespace {

char* part(void* data, int64_t bytes, int index) {
  return static_cast<char*>(data) + bytes * index;
}
const char* part(const void* data, int64_t bytes, int index) {
  return static_cast<const char*>(data) + bytes * index;
}

}  // namespace

Group::Group(int rank, int size) : rank_(rank), size_(size) {
  invariant(size > 0 && rank >= 0 && rank < size, "rank {} of a group of {}", rank, size);
}

bool Group::begin(std::string_view what, const void* in, void* out, int64_t bytes) {
  doing_ = what;
  if (aborted()) throw_aborted();
  require(bytes >= 0, "{}: the length must be 0 or more, but is {}", what, bytes);
  if (bytes == 0) return false;  // the same for all
  if (size_ == 1) copy(in, out, bytes);
  return size_ > 1;
}

void Group::check_member(std::string_view what, int rank) const {
  require(rank >= 0 && rank < size_, "{}: there is no rank {} in a group of {}", what, rank, size_);
}

void Group::all_reduce(const void* in, void* out, int64_t count, DType dtype, Reduce how) {
  check_reducible(dtype);
  if (begin("all_reduce", in, out, count * size_of(dtype))) {
    do_all_reduce(in, out, count, dtype, how);
  }
}

void Group::reduce(const void* in, void* out, int64_t count, DType dtype, Reduce how, int root) {
  check_reducible(dtype);
  check_member("reduce", root);
  const int64_t bytes = count * size_of(dtype);
  if (!begin("reduce", in, out, bytes)) return;
  if (rank_ == root) return do_all_reduce(in, out, count, dtype, how);
  const auto unused = std::make_unique<char[]>(static_cast<size_t>(bytes));
  do_all_reduce(in, unused.get(), count, dtype, how);
}

void Group::reduce_scatter(const void* in, void* out, int64_t count, DType dtype, Reduce how) {
  check_reducible(dtype);
  if (begin("reduce_scatter", in, out, count * size_of(dtype))) {
    do_reduce_scatter(in, out, count, dtype, how);
  }
}

void Group::broadcast(void* data, int64_t bytes, int root) {
  check_member("broadcast", root);
  if (begin("broadcast", data, data, bytes)) do_broadcast(data, bytes, root);
}

void Group::all_gather(const void* in, void* out, int64_t bytes) {
  if (begin("all_gather", in, out, bytes)) do_all_gather(in, out, bytes);
}

void Group::gather(const void* in, void* out, int64_t bytes, int root) {
  check_member("gather", root);
  if (!begin("gather", in, out, bytes)) return;
  if (rank_ != root) return do_send(in, bytes, root);
  for (int r = 0; r < size_; ++r) {
    if (r != root) do_recv(part(out, bytes, r), bytes, r);
  }
  copy(in, part(out, bytes, root), bytes);
}

void Group::scatter(const void* in, void* out, int64_t bytes, int root) {
  check_member("scatter", root);
  if (!begin("scatter", in, out, bytes)) return;
  if (rank_ != root) return do_recv(out, bytes, root);
  for (int r = 0; r < size_; ++r) {
    if (r != root) do_send(part(in, bytes, r), bytes, r);
  }
  copy(part(in, bytes, root), out, bytes);
}

void Group::all_to_all(const void* in, void* out, int64_t bytes) {
  if (begin("all_to_all", in, out, bytes)) do_all_to_all(in, out, bytes);
}

void Group::send(const void* data, int64_t bytes, int to) {
  check_member("send", to);
  require(to != rank_, "send: rank {} cannot send to itself", rank_);
  if (begin("send", nullptr, nullptr, bytes)) do_send(data, bytes, to);
}

void Group::recv(void* data, int64_t bytes, int from) {
  check_member("recv", from);
  require(from != rank_, "recv: rank {} cannot receive from itself", rank_);
  if (begin("recv", nullptr, nullptr, bytes)) do_recv(data, bytes, from);
}

void Group::barrier() {
  doing_ = "barrier";
  if (aborted()) throw_aborted();
  if (size_ > 1) do_barrier();
}

void Group::abort(const std::string& reason) {
  {
    const MutexLock lock(mutex_);
    if (reason_.empty()) reason_ = reason.empty() ? "the job ends" : reason;
  }
  aborted_ = true;
  wake();
}

std::string Group::reason() const {
  const MutexLock lock(mutex_);
  return reason_;
}

void Group::throw_aborted() const {
  const MutexLock lock(mutex_);
  throw Error(ErrorKind::kUnavailable,
              fmt::format("{} of rank {} was ended: {}", doing_, rank_, reason_));
}

void Group::lose(const std::string& reason) {
  abort(reason);
  if (lost_) lost_(reason);
  throw_aborted();
}

}  // namespace flotilla::comm
