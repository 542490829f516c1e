// flotilla/data/gather.h
//
// Gathers batches in a thread of its own, ahead of who trains on them: the caller says which
// samples the coming batches hold, and takes the batches out in the same order.
//
//   (submit next?)*    next() once for each submit(); destroying it at any time leaves no thread
//
// Thread safety: one caller at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "flotilla/data/batch.h"
#include "flotilla/data/batch_buffers.h"
#include "flotilla/data/channel.h"
#include "flotilla/data/column.h"

namespace flotilla::data {

class Gatherer {
 public:
  // `ahead`: how many batches may be under way. REQUIRES: ahead > 0
  Gatherer(Columns columns, int64_t ahead);
  ~Gatherer();
  Gatherer(const Gatherer&) = delete;
  Gatherer& operator=(const Gatherer&) = delete;

  // `drawn`: for each column its params() for each index; may be empty where no column has any.
  // Refuses an index outside the data set at once. REQUIRES: under_way() < ahead
  void submit(std::vector<int64_t> indices, std::vector<std::vector<int32_t>> drawn = {});
  // Waits for the oldest batch. REQUIRES: under_way() > 0
  Batch next();

  int64_t under_way() const { return under_way_; }
  int64_t size() const { return size_; }

 private:
  struct Work {
    std::vector<int64_t> indices = {};
    std::vector<std::vector<int32_t>> drawn = {};
  };
  Batch gather(const Work& work);
  void run();

  const Columns columns_;
  const int64_t size_;
  const int64_t ahead_;
  int64_t under_way_ = 0;
  BatchBuffers buffers_;
  Channel<Work> work_;
  Channel<Batch> batches_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace flotilla::data
