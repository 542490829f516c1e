// flotilla/comm/gloo/gloo_group.h
//
// Collectives among ranks of different hosts over the connections of a Mesh. Gloo
// carries the bytes; what is summed is summed here, in the order of ranks and for every type, so
// that all ranks get the same bits. Steps and bytes: docs/algorithms.md.
//
// Every call begins with a message to each other member (first_messages.h). What is longer is
// received when the call is known to be the same, or with room for the longest, too.

#pragma once

#include <memory>
#include <vector>

#include "flotilla/comm/gloo/first_messages.h"
#include "flotilla/comm/gloo/mesh.h"
#include "flotilla/comm/gloo/transfers.h"
#include "flotilla/comm/group.h"
#include "flotilla/comm/slices.h"

namespace flotilla::comm {

class GlooGroup final : public Group {
 public:
  // `ranks` are the members as the mesh knows them; this one is ranks[rank]. Groups that have a
  // member in common have different channels. Members of the same host are not talked to: their
  // part of all_gather and all_to_all is left alone, and nothing can be reduced (layered.h).
  GlooGroup(std::shared_ptr<Mesh> mesh, std::vector<int> ranks, int rank, uint64_t channel);

  using Part = Transfers::Part;
  // Sends to and receives from each member of another host its part. REQUIRES: act_for()
  void trade(const std::vector<Part>& parts);

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

  // Starts to tell a member what is called here, and to hear what it calls. A part goes along.
  void start_call(int with, const Part& part, bool follows);
  // Refuses a call that differs after all have told each other theirs. `followed` is what was told.
  void refuse_difference(bool followed);
  // All of it, with every other member. What is not short comes in messages of its own.
  template <typename F>
  void call_and_exchange(int64_t longest, F&& part);
  // The same with one of them.
  void call_and_move(int with, const Part& part);

  // Starts to send to and to receive from every other member what part(r) says. The result is what
  // arrive() waits for.
  template <typename F>
  int64_t start(F&& part);
  // Calls work(r) for every member that can be talked to.
  template <typename F>
  void for_others(F&& work);
  void move(int with, const Part& part);
  // Waits for what has started up to there.
  void arrive(int64_t mark);
  [[noreturn]] void lost(const Transfers::Lost& connection);

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
  FirstMessages firsts_;
  Scratch scratch_;
  Transfers transfers_;  // the first to go: it uses the memory of the others
};

}  // namespace flotilla::comm
