// flotilla/ps/metrics.h
//
// What a server does, in the text form that Prometheus reads and people can too.

#pragma once

#include <string>

#include "flotilla/ps/service.h"
#include "flotilla/ps/store.h"

namespace flotilla::ps {

// A line for each number: flotilla_ps_rows{table="emb"} 1024
std::string metrics_text(const ServiceStats& service, const StoreStats& store);

}  // namespace flotilla::ps
