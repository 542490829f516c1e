// flotilla/ps/service.h
//
// What a server does with a request: looks up, pushes, makes rounds of synchronous workers, saves.
// It knows no network: calls come from wherever (channel.h).
//
//   Service service(store, {.workers = 2});
//   service.handle(call);       // answers now, or when the round is over
//
// Thread safety: all calls, from any thread.

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/ps/channel.h"
#include "flotilla/ps/rounds.h"
#include "flotilla/ps/store.h"

namespace flotilla::ps {

struct ServiceStats {
  int64_t requests = 0;
  int64_t refused = 0;    // of them
  int64_t rounds = 0;     // that were completed
  int64_t queued = 0;     // requests that wait for a thread
  int64_t parked = 0;     // steps that wait for other workers
  int64_t bytes_in = 0;   // of requests
  int64_t bytes_out = 0;  // of answers
  // Of pushes that wait for nobody: how many, how many updates had been made since their workers
  // last took values, and the most of one.
  int64_t free_pushes = 0;
  int64_t missed_updates = 0;
  int64_t most_missed = 0;
};

class Service {
 public:
  struct Options {
    int workers = 1;
    // Threads that do what submit() was given.
    int threads = 2;
    // Called once, from any thread, when all workers have left.
    std::function<void()> on_all_left = {};
    // Called before a round that is complete is applied, without a lock: what comes meanwhile meets
    // it. For tests.
    std::function<void()> on_round = {};
  };

  // `store` outlives it.
  Service(Store& store, Options options);
  // Refuses what waits.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Does it here and now. Never throws: what is wrong with a request is its answer.
  void handle(std::shared_ptr<Call> call);
  // Leaves it to a thread, for callers that must not wait.
  void submit(std::shared_ptr<Call> call);

  void announce(const Presence& presence);
  void gone(int rank, uint64_t attempt);

  // Refuses what waits, and all that comes, with this reason.
  void stop(const std::string& reason);

  ServiceStats stats() const;
  // Who the round that is under way waits for.
  std::vector<int> missing() const;

 private:
  void serve();
  void do_request(const std::shared_ptr<Call>& call);
  void do_step(const Request& request, const std::shared_ptr<Call>& call);
  // Parks the step of a round. False: its push is applied.
  bool park(const Request& request, const std::shared_ptr<Call>& call);
  // Does the rounds that are complete; `change`, which takes the lock, is done first.
  void go_on(const std::function<void()>& change);
  void do_round(std::vector<ParkedStep> round);
  // Of the answer to every pull. Refuses pulls of tables that are not there.
  std::vector<size_t> floats_of(const Step& step) const;
  void answer_pulls(int rank, const Step& step, Call& call);
  void count_missed(int rank);
  void answer_text(const std::string& text, Call& call);
  void answer_scan(const Request& request, Call& call);
  void refuse(Call& call, const Error& error);

  Store& store_;
  const Options options_;

  mutable Mutex mutex_;
  Condition changed_;
  Rounds rounds_ FLT_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Call>> queue_ FLT_GUARDED_BY(mutex_);
  std::string stopped_ FLT_GUARDED_BY(mutex_);
  bool ending_ FLT_GUARDED_BY(mutex_) = false;
  bool all_left_ FLT_GUARDED_BY(mutex_) = false;

  std::atomic<int64_t> requests_ = 0;
  std::atomic<int64_t> refused_ = 0;
  std::atomic<int64_t> completed_ = 0;
  std::atomic<int64_t> bytes_in_ = 0;
  std::atomic<int64_t> bytes_out_ = 0;
  // By rank: the records that the values which a worker took last have; kNoRecord: it took none.
  std::vector<std::atomic<uint64_t>> taken_;
  std::atomic<int64_t> free_pushes_ = 0;
  std::atomic<int64_t> missed_updates_ = 0;
  std::atomic<int64_t> most_missed_ = 0;

  std::vector<std::jthread> threads_;  // the last: they use all of the above
};

}  // namespace flotilla::ps
