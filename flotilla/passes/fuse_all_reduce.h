// flotilla/passes/fuse_all_reduce.h
//
// Exchanges gradients in a few buckets instead of one by one.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flotilla/ir/program.h"

namespace flotilla::passes {

struct PassContext;

// The first bucket is small so that exchange starts early, the last one because nothing is left to
// compute beside it. A program whose gradients would fill no more than these two has one bucket.
struct BucketSizes {
  int64_t ends = 1 << 20;      // bytes of the first and of the last bucket, at most
  int64_t between = 32 << 20;  // of the others, unless one gradient is larger
};

// How many of the gradients, given by their bytes in the order in which they are made, go into each
// bucket.
std::vector<size_t> split_into_buckets(std::span<const int64_t> bytes, const BucketSizes& sizes);

// REQUIRES: insert_all_reduce ran before. Returns what Paddle says of it: how many exchanges there
// were and are; "" where there was none to fuse.
std::string fuse_all_reduce(Program& program, const BucketSizes& sizes);

// The same by the sizes of the strategy; what Paddle says goes into context.fusion.
void fuse_all_reduce(PassContext& context);

}  // namespace flotilla::passes
