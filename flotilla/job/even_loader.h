// flotilla/job/even_loader.h
//
// Workers end a pass together. In a collective job a worker whose data ends early would leave the
// others waiting for its gradients. So a loader that feeds a program with exchanges asks the other
// workers before each batch whether all have one; where one has none, the pass ends for all. Where
// the program averages over samples, it ends when none has one: a worker without a batch repeats
// its last one, without weight. When a pass ends, workers compare their parameters.
//
//   const auto even = fleet.even_loader();
//   even->begin();                                               // a pass
//   while (fleet.next_batch(even, loader.next(batch)) != Executor::Next::kEnd) {
//     session.run(program, batch);                               // even->feeds(program, scope)
//   }
//
// Which program a loader feeds is seen when one runs: until then it asks nobody.
// Fleet::next_batch() knows which loader gave the last batch, and tells it. Loaders of other
// programs, say one that only the first worker evaluates with, never ask.
//
// Thread safety: as comm::World.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/progress.h"
#include "flotilla/comm/world.h"
#include "flotilla/runtime/executor.h"

namespace flotilla::job {

class EvenLoader {
 public:
  // `say` gets a line where data was uneven, on rank 0. The world and `progress` outlive it.
  EvenLoader(comm::World& world, Progress* progress, std::function<void(const std::string&)> say)
      : world_(world), progress_(progress), say_(std::move(say)) {}
  EvenLoader(const EvenLoader&) = delete;
  EvenLoader& operator=(const EvenLoader&) = delete;

  // A pass begins.
  void begin();
  // A program runs on the last batch. The first one with exchanges is what the loader feeds.
  void feeds(const Program& program, Scope& scope);

  // What comes next, given whether this worker has a batch.
  Executor::Next next(bool has_batch);
  // Whether the last batch may have to be repeated.
  bool repeats() const { return !fed_ || fed_->by_samples; }

 private:
  // The program with exchanges that the loader feeds.
  struct Fed {
    std::vector<std::string> parameters = {};
    bool by_samples = false;
    Scope& scope;
    std::shared_ptr<Scope> kept = {};  // where somebody shares the scope
  };

  // "All 2 workers end the pass after 30 batches: worker 1 had no more"; "": all had as many.
  std::string how_it_ends(const std::vector<int64_t>& have) const;

  comm::World& world_;
  Progress* const progress_;
  const std::function<void(const std::string&)> say_;
  std::optional<Fed> fed_;
  std::vector<int64_t> counts_;  // of the batches of all workers, as far as they were asked
};

}  // namespace flotilla::job
