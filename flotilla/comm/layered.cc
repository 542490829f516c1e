#include "flotilla/comm/layered.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/comm/reduce.h"
#include "flotilla/comm/slices.h"

namespace flotilla::comm {
namespace {

// Up to here the first ranks of the hosts do it for all: that every rank sends a slice of its own
// pays only when the network is busy for longer than a message takes.
constexpr int64_t kLeadersBytes = 16 << 10;

// An average is a sum until all hosts are in it.
Reduce before_the_end(Reduce how) { return how == Reduce::kAverage ? Reduce::kSum : how; }

}  // namespace

bool LayeredGroup::even(const std::vector<std::vector<int>>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(),
                     [&](const auto& host) { return host.size() == hosts[0].size(); });
}

LayeredGroup::LayeredGroup(Layers layers, std::vector<int> ranks, int rank)
    : Group(std::move(ranks), rank), layers_(std::move(layers)), even_(even(layers_.hosts)) {
  for (Group* layer :
       std::initializer_list<Group*>{layers_.near.get(), layers_.far.get(), layers_.others.get()}) {
    if (layer != nullptr) used_.push_back(layer);
  }
}

template <typename F>
void LayeredGroup::inside(F&& work) {
  for (Group* layer : used_) layer->act_for(call());
  try {
    work();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInvalidArgument) {
      tell(error.sentence());
      throw;
    }
    if (aborted()) throw_aborted();
    for (const Group* layer : used_) {
      if (!layer->reason().empty()) lose(layer->reason());
    }
    throw;
  }
}

void LayeredGroup::meet_near() {
  if (layers_.near) layers_.near->barrier();
}

void LayeredGroup::wake() {
  for (Group* layer : used_) layer->abort(reason());
}

size_t LayeredGroup::host_of(int member) const {
  const auto holds = [&](const std::vector<int>& host) {
    return std::find(host.begin(), host.end(), member) != host.end();
  };
  return static_cast<size_t>(std::find_if(layers_.hosts.begin(), layers_.hosts.end(), holds) -
                             layers_.hosts.begin());
}

int LayeredGroup::place_of(int member) const {
  const std::vector<int>& host = layers_.hosts[host_of(member)];
  return static_cast<int>(std::find(host.begin(), host.end(), member) - host.begin());
}

char* LayeredGroup::shared(int64_t bytes) {
  if (shared_ == nullptr || std::cmp_less(shared_->size(), bytes)) {
    shared_ = layers_.allocate(bytes);
  }
  return static_cast<char*>(shared_->data());
}

void LayeredGroup::do_all_reduce(const void* in, void* out, int64_t count, DType dtype,
                                 Reduce how) {
  inside([&] {
    if (even_ && count * size_of(dtype) > kLeadersBytes) {
      reduce_by_slices(in, out, count, dtype, how);
    } else {
      reduce_by_leaders(in, out, count, dtype, how);
    }
  });
}

void LayeredGroup::reduce_by_slices(const void* in, void* out, int64_t count, DType dtype,
                                    Reduce how) {
  const auto exchange = [&](void* slice, int64_t n) { reduce_far(slice, n, dtype, how); };
  const Reduce first = before_the_end(how);
  if (layers_.near->all_reduce_around(in, out, count, dtype, first, exchange)) return;
  const int64_t bytes = count * size_of(dtype);
  char* seen = shared(bytes);
  copy(in, seen, bytes);
  const bool done = layers_.near->all_reduce_around(seen, seen, count, dtype, first, exchange);
  invariant(done, "memory for the ranks of this host is not seen by them");
  copy(seen, out, bytes);
}

void LayeredGroup::reduce_by_leaders(const void* in, void* out, int64_t count, DType dtype,
                                     Reduce how) {
  const int64_t bytes = count * size_of(dtype);
  if (layers_.near) {
    layers_.near->all_reduce(in, out, count, dtype, before_the_end(how));
  } else {
    copy(in, out, bytes);
  }
  if (place_of(rank()) == 0) reduce_far(out, count, dtype, how);
  if (layers_.near) layers_.near->broadcast(out, bytes, kBytes, 0);
}

void LayeredGroup::reduce_far(void* data, int64_t count, DType dtype, Reduce how) {
  layers_.far->all_reduce(data, data, count, dtype, before_the_end(how));
  finish_average(data, count, dtype, how);
}

void LayeredGroup::finish_average(void* sum, int64_t count, DType dtype, Reduce how) const {
  if (how != Reduce::kAverage) return;
  const void* const in = sum;
  combine({&in, 1}, {&sum, 1}, count, dtype, how, size());
}

void LayeredGroup::do_reduce_scatter(const void* in, void* out, int64_t count, DType dtype,
                                     Reduce how) {
  inside([&] {
    if (even_) {
      reduce_scatter_evenly(in, out, count, dtype, before_the_end(how));
    } else {
      reduce_scatter_unevenly(in, out, count, dtype, before_the_end(how));
    }
    finish_average(out, count, dtype, how);
  });
}

void LayeredGroup::reduce_scatter_evenly(const void* in, void* out, int64_t count, DType dtype,
                                         Reduce how) {
  // Rank i of this host adds up what is for rank i of every host, and they give it to each other.
  const int64_t part = count * size_of(dtype);
  const auto hosts = static_cast<int64_t>(layers_.hosts.size());
  const auto places = static_cast<int64_t>(here().size());
  char* const parts = scratch_.at_least(part * hosts * (places + 1));
  char* const mine = parts + part * hosts * places;
  for (int64_t i = 0; i < places; ++i) {
    for (int64_t h = 0; h < hosts; ++h) {
      const int member = layers_.hosts[static_cast<size_t>(h)][static_cast<size_t>(i)];
      copy(bytes_at(in, part * member), parts + part * (i * hosts + h), part);
    }
  }
  layers_.near->reduce_scatter(parts, mine, count * hosts, dtype, how);
  layers_.far->reduce_scatter(mine, out, count, dtype, how);
}

std::vector<int> LayeredGroup::served_by(size_t host, size_t place) const {
  std::vector<int> found = {layers_.hosts[host][place]};
  size_t next = 0;
  for (size_t other = 0; other < layers_.hosts.size(); ++other) {
    if (other == host) continue;
    for (const int member : layers_.hosts[other]) {
      if (next++ % layers_.hosts[host].size() == place) found.push_back(member);
    }
  }
  return found;
}

void LayeredGroup::reduce_scatter_unevenly(const void* in, void* out, int64_t count, DType dtype,
                                           Reduce how) {
  // Each rank of this host adds up what its members have for some ranks, and sends it to them.
  const int64_t part = count * size_of(dtype);
  const auto places = static_cast<int64_t>(here().size());
  const int64_t hosts = std::ssize(layers_.hosts);
  const int64_t most = 1 + (size() - places + places - 1) / places;  // parts of one rank
  char* const parts = scratch_.at_least(part * (most * places + most + hosts));
  char* const sums = parts + part * most * places;
  char* const came = sums + part * most;
  std::memset(parts, 0, static_cast<size_t>(part * most * places));  // not all ranks have `most`
  for (int64_t i = 0; i < places; ++i) {
    char* to = parts + part * most * i;
    for (const int member : served_by(layers_.host, static_cast<size_t>(i))) {
      copy(bytes_at(in, part * member), std::exchange(to, to + part), part);
    }
  }
  if (layers_.near) {
    layers_.near->reduce_scatter(parts, sums, count * most, dtype, how);
  } else {
    copy(parts, sums, part * most);
  }

  std::vector<GlooGroup::Part> trades(static_cast<size_t>(size()));
  const std::vector<int> mine = served_by(layers_.host, static_cast<size_t>(place_of(rank())));
  for (size_t i = 1; i < mine.size(); ++i) {
    GlooGroup::Part& trade = trades[static_cast<size_t>(mine[i])];
    trade.from = sums + part * static_cast<int64_t>(i);
    trade.send_bytes = part;
  }
  std::vector<const void*> ins(static_cast<size_t>(hosts), sums);
  for (size_t h = 0; h < ins.size(); ++h) {
    if (h == layers_.host) continue;
    GlooGroup::Part& trade = trades[static_cast<size_t>(server_of(rank(), h))];
    trade.to = came + part * static_cast<int64_t>(h);
    trade.recv_bytes = part;
    ins[h] = trade.to;
  }
  layers_.others->trade(trades);
  combine(ins, {&out, 1}, count, dtype, how, size());
}

int LayeredGroup::server_of(int member, size_t host) const {
  for (size_t place = 0; place < layers_.hosts[host].size(); ++place) {
    const std::vector<int> served = served_by(host, place);
    if (std::find(served.begin(), served.end(), member) != served.end()) {
      return layers_.hosts[host][place];
    }
  }
  invariant(false, "member {} is not served by host {}", member, host);
  return -1;
}

void LayeredGroup::do_broadcast(void* data, int64_t bytes, int root) {
  const size_t from = host_of(root);
  inside([&] {
    const bool at_root = from == layers_.host;
    if (!at_root) meet_near();
    if (at_root && layers_.near) layers_.near->broadcast(data, bytes, kBytes, place_of(root));
    if (place_of(rank()) == 0) layers_.far->broadcast(data, bytes, kBytes, static_cast<int>(from));
    if (!at_root && layers_.near) layers_.near->broadcast(data, bytes, kBytes, 0);
    if (at_root) meet_near();  // whether the other hosts call the same
  });
}

void LayeredGroup::do_all_gather(const void* in, void* out, int64_t bytes) {
  inside([&] {
    meet_near();
    const auto n = static_cast<int64_t>(here().size());
    if (!even_) {
      layers_.others->all_gather(in, out, bytes, kBytes);
      char* near = scratch_.at_least(bytes * n);
      if (layers_.near) {
        layers_.near->all_gather(in, near, bytes, kBytes);
      } else {
        copy(in, near, bytes);
      }
      for (int64_t i = 0; i < n; ++i) {
        const int member = here()[static_cast<size_t>(i)];
        copy(near + bytes * i, bytes_at(out, bytes * member), bytes);
      }
      return;
    }
    // First what rank i of every host has, then the same of the others of this host.
    const auto hosts = static_cast<int64_t>(layers_.hosts.size());
    char* mine = scratch_.at_least(bytes * hosts * (n + 1));
    char* all = mine + bytes * hosts;
    layers_.far->all_gather(in, mine, bytes, kBytes);
    layers_.near->all_gather(mine, all, bytes * hosts, kBytes);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t h = 0; h < hosts; ++h) {
        const int member = layers_.hosts[static_cast<size_t>(h)][static_cast<size_t>(i)];
        copy(all + bytes * (i * hosts + h), bytes_at(out, bytes * member), bytes);
      }
    }
  });
}

void LayeredGroup::do_all_to_all(const void* in, void* out, int64_t bytes) {
  inside([&] {
    meet_near();
    layers_.others->all_to_all(in, out, bytes, kBytes);
    if (!layers_.near)
      return copy(bytes_at(in, bytes * rank()), bytes_at(out, bytes * rank()), bytes);
    const auto n = static_cast<int64_t>(here().size());
    char* give = scratch_.at_least(bytes * n * 2);
    char* get = give + bytes * n;
    for (int64_t i = 0; i < n; ++i) {
      copy(bytes_at(in, bytes * here()[static_cast<size_t>(i)]), give + bytes * i, bytes);
    }
    layers_.near->all_to_all(give, get, bytes, kBytes);
    for (int64_t i = 0; i < n; ++i) {
      copy(get + bytes * i, bytes_at(out, bytes * here()[static_cast<size_t>(i)]), bytes);
    }
  });
}

void LayeredGroup::do_send(const void* data, int64_t bytes, int to) {
  inside([&] {
    if (host_of(to) == layers_.host) return layers_.near->send(data, bytes, kBytes, place_of(to));
    layers_.others->send(data, bytes, kBytes, to);
  });
}

void LayeredGroup::do_recv(void* data, int64_t bytes, int from) {
  inside([&] {
    if (host_of(from) == layers_.host)
      return layers_.near->recv(data, bytes, kBytes, place_of(from));
    layers_.others->recv(data, bytes, kBytes, from);
  });
}

void LayeredGroup::do_barrier() {
  inside([&] {
    if (layers_.near) layers_.near->barrier();
    if (place_of(rank()) == 0) layers_.far->barrier();
    if (layers_.near) layers_.near->barrier();
  });
}

}  // namespace flotilla::comm
