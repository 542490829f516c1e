// flotilla/ps/rounds.h
//
// The rounds of synchronous training, at one server: a worker's push waits until every worker that
// is present has one.
//
//   present   a round waits for it
//   away      it does something else for a while (waits for other workers, say)
//   left      it has no more data, or is gone
//
// Thread safety: none; the service holds a lock around every call.

#pragma once

#include <map>
#include <memory>
#include <vector>

#include "flotilla/ps/channel.h"
#include "flotilla/ps/request.h"

namespace flotilla::ps {

// A step whose push waits. Its arrays lie in the call's request.
struct ParkedStep {
  int rank = 0;
  Step step = {};
  std::shared_ptr<Call> call = {};
};

class Rounds {
 public:
  explicit Rounds(int workers);

  // Where the worker has a step here already (its connection was lost), this one takes its place,
  // and that one is returned.
  std::shared_ptr<Call> park(ParkedStep step);
  // What is older than what is known of the worker changes nothing.
  void announce(const Presence& presence);
  // The worker's process has ended; one that is started again comes with a higher attempt.
  void gone(int rank, uint64_t attempt);

  // The steps of a round that is complete, in the order of ranks, which makes sums repeat; none:
  // somebody is waited for.
  std::vector<ParkedStep> take_complete();
  std::vector<ParkedStep> take_all();

  size_t waiting() const { return parked_.size(); }
  // Who is waited for.
  std::vector<int> missing() const;
  bool all_left() const;

 private:
  std::vector<Presence> presence_;
  std::map<int, ParkedStep> parked_;
};

}  // namespace flotilla::ps
