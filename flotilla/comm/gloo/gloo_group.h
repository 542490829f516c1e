// flotilla/comm/gloo/gloo_group.h
//
// Collectives among ranks of different hosts over the connections of a Mesh. Gloo
// carries the bytes; what is summed is summed here, in the order of ranks and for every type, so
// that all ranks get the same bits. Steps and bytes: docs/algorithms.md.

#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "flotilla/comm/gloo/mesh.h"
#include "flotilla/comm/group.h"
#include "flotilla/comm/slices.h"

namespace flotilla::comm {

class GlooGroup final : public Group {
 public:
  // `ranks` are the members as the mesh knows them; this one is ranks[rank]. Groups that have a
  // member in common have different channels. Members of the same host are not talked to: their
  // part of all_gather and all_to_all is left alone, and nothing can be reduced (layered.h).
  GlooGroup(std::shared_ptr<Mesh> mesh, std::vector<int> ranks, int rank, uint64_t channel);
  ~GlooGroup() override;

 private:
  // From where and to where; a part without bytes is not sent, and both sides know it.
  struct Part {
    const char* from = nullptr;
    char* to = nullptr;
    int64_t send_bytes = 0;
    int64_t recv_bytes = 0;
  };
  // What is on its way, with whom.
  struct Moving {
    int with = 0;
    std::unique_ptr<Mesh::Transfer> transfer = {};
  };

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
  int rank_of(int member) const override { return ranks_[static_cast<size_t>(member)]; }

  // The first message of a call, always of the same length: Gloo refuses what is not as long as
  // expected, without a word on whose it is.
  struct Head {
    Call call = {};
    char data[48] = {};  // all that is sent, where there is room
  };
  // Tells every other member what is called here and refuses what differs; the heads of all.
  std::vector<Head> compare_calls(const void* data = nullptr, int64_t bytes = 0);

  // Sends to and receives from every other member what part(r) says. start() only starts it; the
  // result is what arrive() waits for.
  template <typename F>
  int64_t start(F&& part);
  template <typename F>
  void exchange(F&& part);
  void move(int with, const Part& part);
  // Waits for what has started up to there.
  void arrive(int64_t mark);
  // Nothing moves any more: what is on its way does not touch our memory.
  void forget();
  [[noreturn]] void lost(int member, const std::string& why);

  // A piece of an all-reduce: sent whole, or in a slice for each rank.
  struct Piece {
    const char* in = nullptr;
    char* out = nullptr;
    char* others = nullptr;  // where their values come to lie
    int64_t count = 0;
    int64_t element = 0;
    int slices = 1;

    // In bytes.
    int64_t begin(int slice) const { return slice_begin(count, element, slice, slices) * element; }
    int64_t bytes(int slice) const { return begin(slice + 1) - begin(slice); }
  };
  int64_t start_piece(const Piece& piece);
  // `others` holds a part of each member, by rank.
  void combine_with(const char* others, const char* mine, void* out, int64_t count, DType dtype,
                    Reduce how);

  char* scratch(int64_t bytes);

  const std::shared_ptr<Mesh> mesh_;
  const std::vector<int> ranks_;
  const uint64_t channel_;
  Mutex moving_mutex_;
  std::deque<Moving> moving_ FLT_GUARDED_BY(moving_mutex_);
  int64_t started_ = 0;  // transfers, ever
  int64_t arrived_ = 0;
  std::vector<char> scratch_;
};

}  // namespace flotilla::comm
