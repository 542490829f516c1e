// flotilla/passes/exchange.h
//
// The ops with which ranks exchange gradients, as the passes write and recognise them.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/ir/program.h"

namespace flotilla::passes {

inline constexpr std::string_view kAllReduce = "c_allreduce_sum";
inline constexpr std::string_view kFusedAllReduce = "fused_all_reduce";
inline constexpr std::string_view kGatherRows = "all_gather_rows";
inline constexpr std::string_view kWaitForExchange = "c_sync_comm_stream";
inline constexpr std::string_view kWeighBySamples = "weigh_by_samples";

// The ring of all ranks.
inline constexpr int32_t kWorldRing = 0;

// Exchanges `vars` in place. `marks` is what the op keeps of the one it stands behind.
Op exchange_op(std::string_view type, std::vector<std::string> vars, bool use_calc_stream,
               Attrs marks);

// Whether the op exchanges gradients beside the program: somebody waits for it later.
bool starts_exchange(const Op& op);

// Whether the block has an op that exchanges the variable.
bool is_exchanged(const Block& block, std::string_view var);

// Puts one op in front of the first that touches a variable whose exchange was started: it waits
// for all that were started before it.
void insert_waits(Block& block);

}  // namespace flotilla::passes
