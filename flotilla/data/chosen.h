// flotilla/data/chosen.h
//
// Some samples of a data set in memory, in a given order: what one rank of a job trains on.
//
//   const SampleShard shard = shard_samples(samples_of(columns), {.rank = 1, .ranks = 4});
//   Loader loader(chosen(columns, shard.indices), {.batch_size = 64});

#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/data/column.h"

namespace flotilla::data {

// Sample i of the result is sample indices[i] of `columns`, which are shared, not copied. An index
// may occur several times. Refuses an index that is not in the set.
Columns chosen(const Columns& columns, std::vector<int64_t> indices);

}  // namespace flotilla::data
