#include "flotilla/comm/group.h"

#include <memory>

#include "flotilla/base/error.h"
#include "flotilla/comm/reduce.h"
#include "flotilla/comm/slices.h"

namespace flotilla::comm {
namespace {

Call moving(Verb verb, int64_t count, Element element, int root = 0) {
  return {.verb = verb, .element = element, .root = root, .bytes = count * element.bytes};
}

Call reducing(Verb verb, int64_t count, DType dtype, Reduce how) {
  check_reducible(dtype);
  Call call = moving(verb, count, dtype);
  call.how = static_cast<uint8_t>(how);
  return call;
}

}  // namespace

bool Group::begin(const Call& call, const void* in, void* out) {
  begin_call(call);
  require(call.bytes >= 0, "{}: the length must be 0 or more, but is {}", name_of(call.verb),
          call.bytes);
  if (size() == 1) copy(in, out, call.bytes);
  if (size() == 1 || call.bytes > 0) return size() > 1;
  // Nothing of everybody; a member for which it is something must not wait.
  if (call.verb == Verb::kSend || call.verb == Verb::kRecv) return true;
  do_barrier();
  return false;
}

void Group::check_member(Verb verb, int rank) const {
  require(rank >= 0 && rank < size(), "{}: there is no rank {} in a group of {}", name_of(verb),
          rank, size());
}

void Group::all_reduce(const void* in, void* out, int64_t count, DType dtype, Reduce how) {
  if (begin(reducing(Verb::kAllReduce, count, dtype, how), in, out)) {
    do_all_reduce(in, out, count, dtype, how);
  }
}

void Group::reduce(const void* in, void* out, int64_t count, DType dtype, Reduce how, int root) {
  check_member(Verb::kReduce, root);
  Call call = reducing(Verb::kReduce, count, dtype, how);
  call.root = root;
  if (!begin(call, in, out)) return;
  if (rank() == root) return do_all_reduce(in, out, count, dtype, how);
  const auto unused = std::make_unique<char[]>(static_cast<size_t>(call.bytes));
  do_all_reduce(in, unused.get(), count, dtype, how);
}

void Group::reduce_scatter(const void* in, void* out, int64_t count, DType dtype, Reduce how) {
  if (begin(reducing(Verb::kReduceScatter, count, dtype, how), in, out)) {
    do_reduce_scatter(in, out, count, dtype, how);
  }
}

void Group::broadcast(void* data, int64_t count, Element element, int root) {
  check_member(Verb::kBroadcast, root);
  if (begin(moving(Verb::kBroadcast, count, element, root), data, data)) {
    do_broadcast(data, count * element.bytes, root);
  }
}

void Group::all_gather(const void* in, void* out, int64_t count, Element element) {
  if (begin(moving(Verb::kAllGather, count, element), in, out)) {
    do_all_gather(in, out, count * element.bytes);
  }
}

void Group::gather(const void* in, void* out, int64_t count, Element element, int root) {
  check_member(Verb::kGather, root);
  if (!begin(moving(Verb::kGather, count, element, root), in, out)) return;
  const int64_t bytes = count * element.bytes;
  do_barrier();  // the call is that of all, before two of them wait for each other
  if (rank() != root) return do_send(in, bytes, root);
  for (int r = 0; r < size(); ++r) {
    if (r != root) do_recv(bytes_at(out, bytes * r), bytes, r);
  }
  copy(in, bytes_at(out, bytes * root), bytes);
}

void Group::scatter(const void* in, void* out, int64_t count, Element element, int root) {
  check_member(Verb::kScatter, root);
  if (!begin(moving(Verb::kScatter, count, element, root), in, out)) return;
  const int64_t bytes = count * element.bytes;
  do_barrier();
  if (rank() != root) return do_recv(out, bytes, root);
  for (int r = 0; r < size(); ++r) {
    if (r != root) do_send(bytes_at(in, bytes * r), bytes, r);
  }
  copy(bytes_at(in, bytes * root), out, bytes);
}

void Group::all_to_all(const void* in, void* out, int64_t count, Element element) {
  if (begin(moving(Verb::kAllToAll, count, element), in, out)) {
    do_all_to_all(in, out, count * element.bytes);
  }
}

template <typename F>
void Group::in_twos(F&& work) {
  try {
    work();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInvalidArgument) tell(error.sentence());
    throw;
  }
}

void Group::send(const void* data, int64_t count, Element element, int to) {
  check_member(Verb::kSend, to);
  require(to != rank(), "send: rank {} cannot send to itself", rank_of(rank()));
  if (begin(moving(Verb::kSend, count, element, to), nullptr, nullptr)) {
    in_twos([&] { do_send(data, count * element.bytes, to); });
  }
}

void Group::recv(void* data, int64_t count, Element element, int from) {
  check_member(Verb::kRecv, from);
  require(from != rank(), "recv: rank {} cannot receive from itself", rank_of(rank()));
  if (begin(moving(Verb::kRecv, count, element, from), nullptr, nullptr)) {
    in_twos([&] { do_recv(data, count * element.bytes, from); });
  }
}

void Group::barrier() { begin({.verb = Verb::kBarrier}, nullptr, nullptr); }

}  // namespace flotilla::comm
