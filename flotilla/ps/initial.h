// flotilla/ps/initial.h
//
// The first value of a row: a function of (seed, key) alone, so that every server, thread and
// restart makes the same row.

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
