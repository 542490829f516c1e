// flotilla/testing/rank_ops.h
//
// Programs and operators on several ranks that are threads, each with a scope and an executor of
// its own.
//
//   on_ranks(2, [](int rank) { return Inputs{{"X", full({3}, rank)}}; }, "c_allreduce_sum")[1]

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "flotilla/testing/ranks.h"
#include "flotilla/testing/run_op.h"

namespace flotilla::testing {

// What an op gives on every rank; rank r is given inputs(r). One rank has a world of its own.
std::vector<OpResult> on_ranks(int size, const std::function<Inputs(int rank)>& inputs,
                               const std::string& type, const Attrs& attrs = {},
                               const OpOptions& options = {});

}  // namespace flotilla::testing
