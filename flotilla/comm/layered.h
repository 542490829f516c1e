// flotilla/comm/layered.h
//
// Collectives among ranks of several hosts of which some have several ranks: what can be done in a
// host is done in its memory, and between hosts every byte travels once.
//
//     reduce in the host      exchange between hosts      share in the host
//       a0 a1 → A0 | A1         A0 ↔ B0 : S0                S0 | S1 → S S
//       b0 b1 → B0 | B1         A1 ↔ B1 : S1                S0 | S1 → S S
//
// Where all hosts have the same number of ranks, rank i of a host meets rank i of the others for
// slice i, so that all of them use the network; where they do not, and for small messages, the
// first rank of each host does it for all. Sums run in the order of ranks inside of a host, then in
// the order of hosts: every rank gets the same bits, every time. Steps and bytes:
// docs/algorithms.md.

#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "flotilla/comm/board_group.h"
#include "flotilla/comm/gloo/gloo_group.h"
#include "flotilla/comm/group.h"
#include "flotilla/comm/slices.h"
#include "flotilla/device/allocator.h"

namespace flotilla::comm {

class LayeredGroup final : public Group {
 public:
  struct Layers {
    // The members of each host, each in order, and which host this is.
    std::vector<std::vector<int>> hosts = {};
    size_t host = 0;

    // The members of this host; null where this rank is alone on it.
    std::unique_ptr<BoardGroup> near = {};
    // Rank i of each host, where this is rank i of its own, in the order of hosts. Null for all but
    // the first rank of a host where hosts differ in their number of ranks.
    std::unique_ptr<GlooGroup> far = {};
    // All members, but only those of other hosts can be talked to: see GlooGroup.
    std::unique_ptr<GlooGroup> others = {};

    // Memory that the members of this host see.
    std::function<std::shared_ptr<Buffer>(int64_t bytes)> allocate = {};
  };

  // All hosts have the same number of ranks.
  static bool even(const std::vector<std::vector<int>>& hosts);

  LayeredGroup(Layers layers, std::vector<int> ranks, int rank);

 private:
  void do_all_reduce(const void* in, void* out, int64_t count, DType dtype, Reduce how) override;
  void do_reduce_scatter(const void* in, void* out, int64_t count, DType dtype,
                         Reduce how) override;
  void do_broadcast(void* data, int64_t bytes, int root) override;
  void do_all_gather(const void* in, void* out, int64_t bytes) override;
  void do_all_to_all(const void* in, void* out, int64_t bytes) override;
  void do_send(const void* data, int64_t bytes, int to) override;
  void do_recv(void* data, int64_t bytes, int from) override;
  void do_barrier() override;
  void wake() override;

  void reduce_scatter_evenly(const void* in, void* out, int64_t count, DType dtype, Reduce how);
  void reduce_scatter_unevenly(const void* in, void* out, int64_t count, DType dtype, Reduce how);
  void reduce_by_slices(const void* in, void* out, int64_t count, DType dtype, Reduce how);
  void reduce_by_leaders(const void* in, void* out, int64_t count, DType dtype, Reduce how);
  // Sums of the hosts become the result.
  void reduce_far(void* data, int64_t count, DType dtype, Reduce how);
  // A sum over all members becomes what was asked for.
  void finish_average(void* sum, int64_t count, DType dtype, Reduce how) const;

  // Calls `work`, which uses the layers; what ends one of them, or is refused by one, ends this
  // group, and its members are told. Every call meets the members of this host first, and then at
  // least the first rank of every host those of the others: one that differs is met by somebody.
  template <typename F>
  void inside(F&& work);
  void meet_near();
  const std::vector<int>& here() const { return layers_.hosts[layers_.host]; }
  // Where a member stands: its host, and its place there.
  size_t host_of(int member) const;
  int place_of(int member) const;
  // In an uneven reduce-scatter: the members for which this one adds up what its host has, itself
  // first, and who does so for a member.
  std::vector<int> served_by(size_t host, size_t place) const;
  int server_of(int member, size_t host) const;
  char* shared(int64_t bytes);

  const Layers layers_;
  const bool even_;
  std::vector<Group*> used_;  // those of the layers that there are
  std::shared_ptr<Buffer> shared_;
  Scratch scratch_;
};

}  // namespace flotilla::comm
