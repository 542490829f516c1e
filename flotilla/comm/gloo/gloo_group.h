// flotilla/comm/gloo/gloo_group.h
//
// Collectives among ranks of different hosts over the connections of a Mesh. Gloo
// carries the bytes; what is summed is summed here, in the order of ranks and for every type, so
// that all ranks get the same bits. Steps and bytes: docs/algorithms.md.
//
// Gloo ends the process that gets more than it expects. So the first message of a call to each
// other member is received with room for the longest that there is: it says what is called, and
// holds what there is to send where that is short. What is longer is received when the call is
// known to be the same, or with room for the longest, too.

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

  // From where and to where; a part without bytes is not sent, and both sides know it.
  struct Part {
    const char* from = nullptr;
    char* to = nullptr;
    int64_t send_bytes = 0;
    int64_t recv_bytes = 0;
  };
  // Sends to and receives from each member of another host its part. REQUIRES: act_for()
  void trade(const std::vector<Part>& parts);

 private:
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

  // Up to here a second step takes longer than that everybody sends everything to everybody: it
  // goes along with the call.
  static constexpr int64_t kShortBytes = 16 << 10;
  // How the first message of a call to a member begins.
  struct Head {
    Call call = {};
    int64_t follows = 0;  // 1: another message, whatever that member calls
  };
  static constexpr int64_t kFirstBytes = int64_t{sizeof(Head)} + kShortBytes;

  char* first_to(int member) const;
  char* first_from(int member) const;
  // Starts to tell a member what is called here, and to hear what it calls. A part goes along.
  void start_call(int with, const Part& part, bool follows);
  // What has come: how it begins, and the part.
  Head head_from(int member) const;
  void take_part(int with, const Part& part) const;
  // Refuses a call that differs after all have told each other theirs. `followed` is what was told.
  void refuse_difference(bool followed);
  // All of it, with every other member. What is not short comes in messages of its own.
  template <typename F>
  void call_and_exchange(int64_t longest, F&& part);
  // The same with one of them.
  void call_and_move(int with, const Part& part);

  // Sends to and receives from every other member what part(r) says. start() only starts it; the
  // result is what arrive() waits for.
  template <typename F>
  int64_t start(F&& part);
  template <typename F>
  void exchange(F&& part);
  // Calls work(r) for every member that can be talked to.
  template <typename F>
  void for_others(F&& work);
  void move(int with, const Part& part);
  // Waits for what has started up to there.
  void arrive(int64_t mark);
  // Nothing moves any more: what is on its way does not touch our memory.
  void forget();
  [[noreturn]] void lost(int member, const std::string& why);

  // A piece of a long all-reduce: sent whole, or in a slice for each rank.
  struct Piece {
    const char* in = nullptr;
    char* out = nullptr;
    char* others = nullptr;  // where their values come to lie, piece_room() for each
    int64_t count = 0;
    int64_t element = 0;
    int slices = 1;

    // In bytes.
    int64_t begin(int slice) const { return slice_begin(count, element, slice, slices) * element; }
    int64_t bytes(int slice) const { return begin(slice + 1) - begin(slice); }
  };
  void all_reduce_in_pieces(const void* in, void* out, int64_t count, DType dtype, Reduce how);
  int64_t start_piece(const Piece& piece);
  int64_t piece_room() const;
  // `others` holds a part of each member, by rank, each `room` behind the other.
  void combine_with(const char* others, int64_t room, const char* mine, void* out, int64_t count,
                    DType dtype, Reduce how);

  const std::shared_ptr<Mesh> mesh_;
  const uint64_t channel_;
  Mutex moving_mutex_;
  std::deque<Moving> moving_ FLT_GUARDED_BY(moving_mutex_);
  int64_t started_ = 0;  // transfers, ever
  int64_t arrived_ = 0;
  // The first messages, to and from each member.
  const std::unique_ptr<char[]> firsts_;
  Scratch scratch_;
};

}  // namespace flotilla::comm
