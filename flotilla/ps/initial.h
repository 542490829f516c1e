// flotilla/ps/initial.h
//
// The first value of a row: a function of (seed, stream, key) alone, so that every server, thread
// and restart makes the same row.
//
// Element j of row `key` is element key * width + j of the stream, modulo 2^64, by the arithmetic
// of the ops uniform_random, gaussian_random and truncated_gaussian_random: where a startup program
// drew the stream, the rows are those of the parameter that it would have made.

#pragma once

#include <cstdint>
#include <span>

#include "flotilla/ps/table.h"

namespace flotilla::ps {

void fill_initial(const TableSpec& table, int64_t key, std::span<float> row);

// Floats [begin, end) of a dense table, which do not depend on where it is cut.
void fill_initial_dense(const TableSpec& table, const Slice& slice, std::span<float> values);

// Whether the n-th appearance (from 1) of a key that has no row gives it one.
bool admits(const TableSpec& table, int64_t key, uint32_t appearance);

}  // namespace flotilla::ps
