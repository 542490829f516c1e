// flotilla/comm/board_group.h
//
// Collectives among ranks that see the same memory: threads of a process, or processes of a host.
//
// Small messages take one turn of the board: everybody shows its part and reads the others'. Large
// ones that lie in memory the peers can see (Sight) are worked on where they lie: rank r combines
// slice r of all ranks and writes it to all of them, so that nothing is copied in or out. Other
// memory goes through the slots in pieces. Steps and bytes: docs/algorithms.md.

#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "flotilla/comm/board.h"
#include "flotilla/comm/group.h"

namespace flotilla::comm {

// How ranks see each other's memory, and whether they are still there. Ranks are those of the job.
class Sight {
 public:
  virtual ~Sight() = default;
  // Where `data` lies for the members of the group; region 0 where it is memory of our own.
  virtual Place show(const void* data, int64_t bytes) = 0;
  // The same bytes as we see them. REQUIRES: place.region != 0
  virtual char* see(int rank, const Place& place, int64_t bytes) = 0;
  // "" or, where the rank is known to be gone, what is known of it.
  virtual std::string gone(int rank) = 0;
};

class BoardGroup final : public Group {
 public:
  // `memory` is what Board wants.
  BoardGroup(std::shared_ptr<void> memory, std::vector<int> ranks, int rank,
             std::unique_ptr<Sight> sight);

  // All-reduce with something in between, for what lies in memory that all members see: rank r
  // combines slice r, `between(slice, count)` does more with it, and everybody gets all slices.
  // False: some of the memory is not seen, and nothing was done. REQUIRES: act_for()
  using Between = std::function<void(void* slice, int64_t count)>;
  bool all_reduce_around(const void* in, void* out, int64_t count, DType dtype, Reduce how,
                         const Between& between);

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
  void wake() override { board_.leave(reason()); }

  // Shows `in` and `out` where peers can see them and takes a turn. True: everybody's can be seen.
  bool show(const void* in, int64_t in_bytes, const void* out, int64_t out_bytes);
  // Where slice `rank()` of what everybody shows begins, into ins_ and outs_; its length.
  int64_t find_slices(int64_t count, int64_t element);
  void turn() {
    const int other = board_.turn(call(), check_);
    if (other >= 0) refuse_other(other, board_.call_of(other));
  }

  const std::shared_ptr<void> memory_;
  Board board_;
  const std::unique_ptr<Sight> sight_;
  const Board::Check check_;
  // What is combined, by rank: kept, because a small all-reduce takes less than an allocation.
  std::vector<const void*> ins_;
  std::vector<void*> outs_;
};

}  // namespace flotilla::comm
