// flotilla/ps/round_merge.h
//
// A round of synchronous training: the pushes of all workers become one, whose gradients are their
// sum divided by their number, as Paddle's synchronous servers do.

#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "flotilla/ps/change.h"

namespace flotilla::ps {

// Owns the arrays of `push`. Moving keeps them in place.
struct MergedRound {
  Push push = {};

  MergedRound() = default;
  MergedRound(MergedRound&&) = default;
  MergedRound& operator=(MergedRound&&) = default;

  std::deque<std::vector<int64_t>> keys = {};
  std::deque<std::vector<float>> values = {};
};

// `pushes` in the order of the workers' ranks, which makes the sums the same in every run; each
// must be for the same tables, sparse ones with any keys. The learning rate is that of the first: a
// worker that was started again may be behind in its schedule. Has the ids of all. Dense gradients
// are added up; sparse ones are put behind each other, and the table adds up equal keys.
MergedRound merge_round(std::span<const Push> pushes);

}  // namespace flotilla::ps
