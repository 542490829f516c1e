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

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/dtype.h"
#include "flotilla/base/mutex.h"
#include "flotilla/comm/call.h"

namespace flotilla::comm {

enum class Reduce { kSum, kMax, kMin, kProd, kAverage };

// The launcher tells within this time why a rank is gone, which is better than to say that its
// connection was closed.
constexpr std::chrono::milliseconds kForTheLauncher{500};

class Group {
 public:
  virtual ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  // The rank in the job of a member: what it is called where it is named.
  int rank_of(int member) const { return ranks_[static_cast<size_t>(member)]; }

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

  // For a group that is a layer of another one: what its members compare is the call of that one.
  void act_for(const Call& call);

  // Ends the call that waits and all later ones, here; the first reason counts.
  void abort(const std::string& reason);
  // Why; "": nobody has.
  std::string reason() const;

  // `tell(reason)` is called where a call finds a member gone, before it throws. Set before the
  // first call.
  void on_lost(std::function<void(const std::string& reason)> tell) { lost_ = std::move(tell); }

 protected:
  // This one is ranks[rank].
  Group(std::vector<int> ranks, int rank);

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
  // Called by abort(), from any thread: whoever waits must look at aborted() again.
  virtual void wake() = 0;

  bool aborted() const { return aborted_.load(); }
  // Throws that the call was ended, and why. REQUIRES: aborted()
  [[noreturn]] void throw_aborted() const;
  // Aborts, and passes the reason on.
  void tell(const std::string& reason);
  // The same where a backend finds a member gone.
  [[noreturn]] void lose(const std::string& reason);

  // The call in progress.
  const Call& call() const { return call_; }
  // Throws that a member makes another call than this one.
  [[noreturn]] void refuse_other(int member, const Call& theirs) const;

 private:
  // Refuses bad arguments; false: there is nothing to do for several.
  bool begin(const Call& call, const void* in, void* out);
  void check_member(Verb verb, int rank) const;
  // Calls `work`, in which only two members meet: of what they refuse the others are told.
  template <typename F>
  void in_twos(F&& work);

  const std::vector<int> ranks_;
  const int rank_;
  Call call_;
  bool is_layer_ = false;
  std::atomic<bool> aborted_ = false;
  mutable Mutex mutex_;
  std::string reason_ FLT_GUARDED_BY(mutex_);
  std::function<void(const std::string&)> lost_;
};

}  // namespace flotilla::comm
