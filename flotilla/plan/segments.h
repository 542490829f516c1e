// flotilla/plan/segments.h
//
// The longest runs of steps that a device can record, and run as one: steps of its own kernels,
// outside of loops, with nothing between them that waits.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "flotilla/plan/draft.h"

namespace flotilla::plan {

class Segments {
 public:
  // Cuts the nodes of the draft, which outlives it and keeps its nodes. REQUIRES: memory is
  // assigned, and nodes know for whom they wait
  explicit Segments(Draft& draft);

  // The end of the segment that begins at a node and is to run as one now; 0: run the node by
  // itself. The first run goes step by step: that is where what is wrong shows, and where libraries
  // load what they need.
  int32_t run(int32_t node);
  // A run of the whole plan has ended well.
  void ran() { warm_ = true; }
  // Addresses have changed, or steps: what was recorded is not right any more.
  void forget();

  struct Segment {
    int32_t begin = 0, end = 0;
    int64_t steps = 0;
    std::unique_ptr<Recording> recording = {};
    bool recorded = false;
  };
  const std::vector<Segment>& all() const { return segments_; }

 private:
  void record(Segment& segment);

  Draft& draft_;
  std::vector<Segment> segments_;   // in order
  std::vector<int32_t> beginning_;  // by node: the segment that begins there; -1: none
  bool warm_ = false;
};

}  // namespace flotilla::plan
