// flotilla/job/server_tables.h
//
// From what a program needs on parameter servers (passes/ps_tables.h) to what servers are asked for
// (ps/table.h).

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flotilla/fleet/role.h"
#include "flotilla/passes/ps_split.h"
#include "flotilla/ps/worker.h"

namespace flotilla::job {

// `worker` knows the random streams that the startup program drew for sparse tables. A table that
// nothing was drawn for draws from its initializer's seed.
//
// Rows change only when they are pushed to: Adam on a sparse table is lazy here, whatever the
// program's lazy_mode. With Geo workers update, and servers add up.
std::vector<ps::TableSpec> table_specs(const std::vector<passes::ServerTable>& tables,
                                       passes::PsMode mode, const ps::Worker& worker);

// "count_filter_entry:5", "probability_entry:0.1"; "", "none", "show_click_entry:...": every key
// gets a row.
ps::Admission parse_entry(std::string_view entry);

ps::WorkerOptions worker_options(const passes::PsOptions& options, const fleet::Role& role,
                                 Progress* progress);

}  // namespace flotilla::job
