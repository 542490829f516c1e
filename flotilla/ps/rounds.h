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

  // A worker whose connection was lost sends its step again, at any moment:
  //
  //   kWaits     for its round; a step of the worker that waited gives its place, and its call is
  //              to be refused: `before`
  //   kWaits     for the end of its round, which is under way: finish() returns it
  //   kApplied   its round is over, and has its push
  //
  // REQUIRES: the step has a push, with one id
  struct Parked {
    enum Outcome { kWaits, kApplied };
    Outcome outcome = kWaits;
    std::shared_ptr<Call> before = {};
  };
  Parked park(ParkedStep step);
  // What is older than what is known of the worker changes nothing.
  void announce(const Presence& presence);
  // The worker's process has ended; one that is started again comes with a higher attempt.
  void gone(int rank, uint64_t attempt);

  // The steps of a round that is complete, in the order of ranks, which makes sums repeat; none:
  // somebody is waited for. The round is under way until it is finished.
  std::vector<ParkedStep> take_complete();
  // Returns the steps of the round that were sent again meanwhile.
  std::vector<ParkedStep> finish(const std::vector<ParkedStep>& round, bool applied);
  std::vector<ParkedStep> take_all();

  size_t waiting() const { return parked_.size(); }
  // Who is waited for.
  std::vector<int> missing() const;
  bool all_left() const;

 private:
  struct UnderWay {
    uint64_t sequence = 0;
    std::vector<ParkedStep> again = {};
  };

  std::vector<Presence> presence_;
  std::map<int, ParkedStep> parked_;
  // By the worker of the push: one that was started again is another one, of the same rank.
  std::map<uint64_t, UnderWay> under_way_;
  std::map<uint64_t, uint64_t> applied_;  // the last sequence that a round had
};

}  // namespace flotilla::ps
