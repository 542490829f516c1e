// flotilla/ps/metrics_view.h
//
// Two looks at the metrics of a server (metrics.h), some time apart, as a few lines for people.

#pragma once

#include <string>
#include <string_view>

namespace flotilla::ps {

// What the server has and does: a line about requests, log and waiting, and one for each table.
std::string view_metrics(std::string_view before, std::string_view after, double seconds);

}  // namespace flotilla::ps
