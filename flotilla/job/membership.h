// flotilla/job/membership.h
//
// A process's place in its job: connected to the job's store from join() to the end, reporting
// what it does, and told at once when the job stops and why.
//
//   Progress ──(read by a thread of the membership)──► store ──► the launcher's tables
//   the launcher ──stop, reason──► store ──► on_stop: waits of comm and ps end
//
// Thread safety: all calls, from any thread. After a fork the child must leave it alone.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "flotilla/base/mutex.h"
#include "flotilla/base/progress.h"
#include "flotilla/fleet/role.h"
#include "flotilla/job/find_store.h"
#include "flotilla/rpc/store_client.h"

namespace flotilla::job {

// How the reason begins where people have ended the job: it did not fail.
inline constexpr char kInterrupted[] = "the job was interrupted";

class Membership {
 public:
  struct Options {
    std::string address = {};  // of the store
    std::string token = {};
    rpc::Member self = {};               // role, rank, host, pid and attempt
    const Progress* progress = nullptr;  // null: nothing is reported
    // Asked about ten times a second where progress is reported or the store is hosted: true makes
    // this process give up all waits and leave the job without a goodbye.
    std::function<bool()> interrupted = {};
    std::chrono::milliseconds patience = std::chrono::seconds(60);  // for the store to appear
    bool launched = false;                   // by a launcher, which says who is gone
    std::unique_ptr<HostedStore> host = {};  // the store itself, where this process hosts it
  };

  // The membership that the environment of this process gives it: that of a launched process
  // (FLT_STORE), that of a job that somebody else started (find_store.h), or null where it is
  // alone. Waits for the store; refuses a rank that is taken.
  struct Interrupts {
    std::function<void()> while_waiting = {};  // see FindStoreOptions
    std::function<bool()> interrupted = {};    // see Options
  };
  static std::unique_ptr<Membership> join(const fleet::Role& role, const Progress* progress,
                                          Interrupts interrupts);
  static std::unique_ptr<Membership> join(const fleet::Role& role, const Progress* progress) {
    return join(role, progress, {});
  }

  explicit Membership(Options options);
  // Reports a last time and says goodbye.
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  const rpc::Member& self() const { return options_.self; }
  // What this process does; null: nobody counts.
  const Progress* progress() const { return options_.progress; }
  rpc::StoreClient& store() { return *store_; }
  // What processes of the job show each other.
  const std::string& token() const { return options_.token; }

  // Keeps a listener; it is gone once this is destroyed. Must not outlive the membership.
  class Listening {
   public:
    Listening() = default;
    Listening(Membership& membership, int64_t id) : membership_(&membership), id_(id) {}
    Listening(Listening&& other) noexcept { *this = std::move(other); }
    Listening& operator=(Listening&& other) noexcept;
    ~Listening();

   private:
    Membership* membership_ = nullptr;
    int64_t id_ = 0;
  };

  // `heard(reason)` is called once when the job stops or its store is lost, from another thread; at
  // once and from this one where that has happened. It must neither wait nor call the membership.
  using Heard = std::function<void(const std::string& reason)>;
  [[nodiscard]] Listening on_stop(Heard heard);
  // Why the job stopped; "": it goes on.
  std::string stopped() const;

  // A signal has asked this process to end: where it hosts the store, the job ends with it.
  void end_store(int signal);

  // Leaves without a goodbye, as a process does that fails: whoever watches takes it for lost.
  void abandon(const std::string& reason);

 private:
  // The last report, and when it went.
  struct Told {
    rpc::Report report = {.step = -1};
    Progress::Clock::time_point when = {};
  };

  void hear(const std::string& reason);
  void watch();
  void tell(Told& told) const;
  rpc::Report report() const;

  const Options options_;
  mutable Mutex mutex_;
  Condition changed_;
  std::string stopped_ FLT_GUARDED_BY(mutex_);
  std::map<int64_t, Heard> listeners_ FLT_GUARDED_BY(mutex_);
  int64_t last_id_ FLT_GUARDED_BY(mutex_) = 0;
  bool leaving_ FLT_GUARDED_BY(mutex_) = false;
  std::unique_ptr<rpc::StoreClient> store_;
  std::jthread watcher_;  // the last: it uses all of the above
};

}  // namespace flotilla::job
