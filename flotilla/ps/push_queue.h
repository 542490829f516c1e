// flotilla/ps/push_queue.h
//
// Asynchronous pushes: steps leave their requests here, and a thread sends them in order.
//
// Thread safety: one thread puts; any may abort the client that it sends with.

#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/ps/client.h"

namespace flotilla::ps {

// One step: a request for each server.
struct QueuedStep {
  std::vector<Outgoing> requests = {};
  bool wants_values = false;  // the answers hold the dense tables
};

class PushQueue {
 public:
  struct Options {
    int length = 1;     // steps that may be under way; the next one waits for room
    int max_merge = 1;  // steps that may become one push
    bool sum = true;    // of merged gradients; else their mean
  };

  PushQueue(Client& client, Options options);
  // Sends what is left, unless the client is aborted.
  ~PushQueue();
  PushQueue(const PushQueue&) = delete;
  PushQueue& operator=(const PushQueue&) = delete;

  // Throws what went wrong with an earlier one.
  void put(QueuedStep step);
  // Returns when all that was put is applied.
  void flush();

  // The newest answers with dense values, once; empty: none since the last call.
  std::vector<Bytes> take_values();

 private:
  void run();
  QueuedStep merge(std::vector<QueuedStep> steps);
  void rethrow_failure() const FLT_REQUIRES(mutex_);

  Client& client_;
  const Options options_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<QueuedStep> queue_ FLT_GUARDED_BY(mutex_);
  bool sending_ FLT_GUARDED_BY(mutex_) = false;
  bool ending_ FLT_GUARDED_BY(mutex_) = false;
  std::exception_ptr failure_ FLT_GUARDED_BY(mutex_);
  std::vector<Bytes> values_ FLT_GUARDED_BY(mutex_);
  std::jthread thread_;  // the last: it uses all of the above
};

}  // namespace flotilla::ps
