// flotilla/comm/group.h
//
// Processes that compute one thing together: every member makes the same calls in the same order,
// and each call ends when its part is done. A member that makes another one than the others, or the
// same with another length or type, is named by all of them (docs/algorithms.md).
//
//   group.all_reduce(gradient, gradient, n, f32, Reduce::kSum);
//
// Sums run in the order of ranks, so that every member gets the same bits, every time. A call that
// waits for a member that is gone, or that somebody aborts, throws kUnavailable with the reason,
// which goes on to whoever waits for this one.
//
// Thread safety: one thread makes the calls; abort() may come from any.

#pragma once

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "flotilla/base/dtype.h"
#include "flotilla/comm/call.h"
#include "flotilla/comm/member.h"

namespace flotilla::comm {

enum class Reduce { kSum, kMax, kMin, kProd, kAverage };

// The launcher tells within this time why a rank is gone, which is better than to say that its
// connection was closed.
constexpr std::chrono::milliseconds kForTheLauncher{500};

class Group : public Member {
 public:
  // Where something is reduced, `in` and `out` are the same or do not overlap, and elements are
  // f32, f64, bf16, i32 or i64. Elsewhere they do not overlap.
  void all_reduce(const void* in, void* out, int64_t count, DType dtype, Reduce how);
  // Only the root gets the result; `out` of the others is left alone.
  void reduce(const void* in, void* out, int64_t count, DType dtype, Reduce how, int root);
  // Rank r gets part r; `count` is of one part.
  void reduce_scatter(const void* in, void* out, int64_t count, DType dtype, Reduce how);
  // From the `data` of the root to that of the others.
  void broadcast(void* data, int64_t count, Element element, int root);
  // `out` holds what every member gave, in the order of ranks; `count` is of one part.
  void all_gather(const void* in, void* out, int64_t count, Element element);
  // The same for the root alone.
  void gather(const void* in, void* out, int64_t count, Element element, int root);
  // Part r of the root's `in` goes to rank r; `count` is of one part.
  void scatter(const void* in, void* out, int64_t count, Element element, int root);
  // Part r of `in` goes to rank r; part r of `out` comes from it.
  void all_to_all(const void* in, void* out, int64_t count, Element element);
  // What one member sends the other receives, in order; `count` is the same on both sides.
  void send(const void* data, int64_t count, Element element, int to);
  void recv(void* data, int64_t count, Element element, int from);
  void barrier();

 protected:
  Group(std::vector<int> ranks, int rank) : Member(std::move(ranks), rank) {}

  // What a backend brings. `size` is at least 2, lengths are positive and roots exist.
  virtual void do_all_reduce(const void* in, void* out, int64_t count, DType dtype, Reduce how) = 0;
  virtual void do_reduce_scatter(const void* in, void* out, int64_t count, DType dtype,
                                 Reduce how) = 0;
  virtual void do_broadcast(void* data, int64_t bytes, int root) = 0;
  virtual void do_all_gather(const void* in, void* out, int64_t bytes) = 0;
  virtual void do_all_to_all(const void* in, void* out, int64_t bytes) = 0;
  virtual void do_send(const void* data, int64_t bytes, int to) = 0;
  virtual void do_recv(void* data, int64_t bytes, int from) = 0;
  virtual void do_barrier() = 0;

 private:
  // Refuses bad arguments; false: there is nothing to do for several.
  bool begin(const Call& call, const void* in, void* out);
  void check_member(Verb verb, int rank) const;
  // Calls `work`, in which only two members meet: of what they refuse the others are told.
  template <typename F>
  void in_twos(F&& work);
};

}  // namespace flotilla::comm
