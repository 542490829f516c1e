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

const char* bytes_at(const void* data, int64_t at) { return static_cast<const char*>(data) + at; }
char* bytes_at(void* data, int64_t at) { return static_cast<char*>(data) + at; }

// An average is a sum until all hosts are in it.
Reduce before_the_end(Reduce how) { return how == Reduce::kAverage ? Reduce::kSum : how; }

}  // namespace

bool LayeredGroup::even(const std::vector<std::vector<int>>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(),
                     [&](const auto& host) { return host.size() == hosts[0].size(); });
}

LayeredGroup::LayeredGroup(Layers layers, int rank, int size)
    : Group(rank, size), layers_(std::move(layers)), even_(even(layers_.hosts)) {}

template <typename F>
void LayeredGroup::inside(F&& work) {
  try {
    work();
  } catch (const Error&) {
    if (aborted()) throw_aborted();
    for (const Group* layer : std::initializer_list<const Group*>{
             layers_.near.get(), layers_.far.get(), layers_.others.get()}) {
      if (layer != nullptr && !layer->reason().empty()) lose(layer->reason());
    }
    throw;
  }
}

void LayeredGroup::wake() {
  if (layers_.near) layers_.near->abort(reason());
  if (layers_.far) layers_.far->abort(reason());
  layers_.others->abort(reason());
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

char* LayeredGroup::scratch(int64_t bytes) {
  if (std::cmp_less(scratch_.size(), bytes)) scratch_.resize(static_cast<size_t>(bytes));
  return scratch_.data();
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
  if (layers_.near) layers_.near->broadcast(out, bytes, 0);
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
  const int64_t part = count * size_of(dtype);
  if (!even_) {
    std::vector<char> all(static_cast<size_t>(part * size()));
    do_all_reduce(in, all.data(), count * size(), dtype, how);
    return copy(all.data() + part * rank(), out, part);
  }
  inside([&] {
    // Rank i of this host adds up what is for rank i of every host, and they give it to each other.
    const auto hosts = static_cast<int64_t>(layers_.hosts.size());
    const auto places = static_cast<int64_t>(here().size());
    char* const parts = scratch(part * hosts * (places + 1));
    char* const mine = parts + part * hosts * places;
    for (int64_t i = 0; i < places; ++i) {
      for (int64_t h = 0; h < hosts; ++h) {
        const int member = layers_.hosts[static_cast<size_t>(h)][static_cast<size_t>(i)];
        copy(bytes_at(in, part * member), parts + part * (i * hosts + h), part);
      }
    }
    const Reduce first = before_the_end(how);
    layers_.near->reduce_scatter(parts, mine, count * hosts, dtype, first);
    layers_.far->reduce_scatter(mine, out, count, dtype, first);
    finish_average(out, count, dtype, how);
  });
}

void LayeredGroup::do_broadcast(void* data, int64_t bytes, int root) {
  const size_t from = host_of(root);
  inside([&] {
    const bool at_root = from == layers_.host;
    if (at_root && layers_.near) layers_.near->broadcast(data, bytes, place_of(root));
    if (place_of(rank()) == 0) layers_.far->broadcast(data, bytes, static_cast<int>(from));
    if (!at_root && layers_.near) layers_.near->broadcast(data, bytes, 0);
  });
}

void LayeredGroup::do_all_gather(const void* in, void* out, int64_t bytes) {
  inside([&] {
    const auto n = static_cast<int64_t>(here().size());
    if (!even_) {
      layers_.others->all_gather(in, out, bytes);
      char* near = scratch(bytes * n);
      if (layers_.near) {
        layers_.near->all_gather(in, near, bytes);
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
    char* mine = scratch(bytes * hosts * (n + 1));
    char* all = mine + bytes * hosts;
    layers_.far->all_gather(in, mine, bytes);
    layers_.near->all_gather(mine, all, bytes * hosts);
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
    layers_.others->all_to_all(in, out, bytes);
    if (!layers_.near)
      return copy(bytes_at(in, bytes * rank()), bytes_at(out, bytes * rank()), bytes);
    const auto n = static_cast<int64_t>(here().size());
    char* give = scratch(bytes * n * 2);
    char* get = give + bytes * n;
    for (int64_t i = 0; i < n; ++i) {
      copy(bytes_at(in, bytes * here()[static_cast<size_t>(i)]), give + bytes * i, bytes);
    }
    layers_.near->all_to_all(give, get, bytes);
    for (int64_t i = 0; i < n; ++i) {
      copy(get + bytes * i, bytes_at(out, bytes * here()[static_cast<size_t>(i)]), bytes);
    }
  });
}

void LayeredGroup::do_send(const void* data, int64_t bytes, int to) {
  inside([&] {
    if (host_of(to) == layers_.host) return layers_.near->send(data, bytes, place_of(to));
    layers_.others->send(data, bytes, to);
  });
}

void LayeredGroup::do_recv(void* data, int64_t bytes, int from) {
  inside([&] {
    if (host_of(from) == layers_.host) return layers_.near->recv(data, bytes, place_of(from));
    layers_.others->recv(data, bytes, from);
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
