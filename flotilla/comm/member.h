// flotilla/comm/member.h
//
// A process as one of a group: who it is among the others, which call it makes, and how its calls
// are ended from outside or because somebody is gone. What the calls do is the group's (group.h).
//
// Thread safety: one thread makes the calls; abort() may come from any.

#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/comm/call.h"

namespace flotilla::comm {

class Member {
 public:
  virtual ~Member() = default;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  // The rank in the job of a member: what it is called where it is named.
  int rank_of(int member) const { return ranks_[static_cast<size_t>(member)]; }

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
  Member(std::vector<int> ranks, int rank);

  // Called by abort(), from any thread: whoever waits must look at aborted() again.
  virtual void wake() = 0;

  // What every call begins with. Throws where calls were ended.
  void begin_call(const Call& call);
  // The call in progress.
  const Call& call() const { return call_; }
  // Throws that a member makes another call than this one.
  [[noreturn]] void refuse_other(int member, const Call& theirs) const;

  bool aborted() const { return aborted_.load(); }
  // Throws that the call was ended, and why. REQUIRES: aborted()
  [[noreturn]] void throw_aborted() const;
  // Aborts, and passes the reason on.
  void tell(const std::string& reason);
  // The same where a member is found to be gone.
  [[noreturn]] void lose(const std::string& reason);

 private:
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
