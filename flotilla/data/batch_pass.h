// flotilla/data/batch_pass.h
//
// One pass over a data set while it is being read: threads make batches ahead of those who take
// them.
//
//   producer threads --emit()--> channel of a few batches --next()--> trainers

#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "flotilla/data/batch.h"
#include "flotilla/data/channel.h"

namespace flotilla::data {

// Thread safety: next(), try_next(), wait_until() and cancel(), from any thread; emit() from its
// producers.
class BatchPass final : public BatchSource {
 public:
  // Makes batches until it is done, or until emit() gives false. What it throws, next() throws once
  // the batches before it were taken.
  using Producer = std::function<void(BatchPass&)>;

  // Starts a thread for each producer. `ahead`: batches that wait at most.
  BatchPass(std::vector<Producer> producers, size_t ahead);
  // Cancels, and waits until the threads have ended.
  ~BatchPass() override;

  std::optional<Batch> next() override { return batches_.pop(); }
  // What next() would give at once, where it would.
  std::optional<Batch> try_next() { return batches_.try_pop(); }
  // Waits until next() would not; false: the time is over.
  bool wait_until(std::chrono::steady_clock::time_point deadline) {
    return batches_.wait_until(deadline);
  }
  // Nobody wants more: ends the producers, and next() gives nothing.
  void cancel();

  // For producers: hands a batch over, waits while too many wait. False: nobody wants it.
  bool emit(Batch batch) { return batches_.push(std::move(batch)); }
  // Turns true when nobody wants more batches.
  const std::atomic<bool>& stopped() const { return stopped_; }

 private:
  void run(const Producer& producer) noexcept;

  Channel<Batch> batches_;
  std::atomic<bool> stopped_ = false;
  std::atomic<size_t> at_work_;
  std::vector<std::jthread> threads_;
};

}  // namespace flotilla::data
