// flotilla/launch/print.h
//
// What the launcher shows, in the form that users of Fleet know.

#pragma once

#include <source_location>
#include <string>
#include <string_view>

#include "flotilla/launch/job.h"

namespace flotilla::launch {

// "-----------  Configuration Arguments -----------" and a line for each option.
std::string configuration_block(const JobOptions& options);

// The table "Distributed Envs / Value" of a process.
std::string environment_table(const Variables& variables);

// "INFO 2021-01-04 17:59:08,727 launch.cc:472] text"
std::string log_line(std::string_view level, std::string_view text,
                     std::source_location where = std::source_location::current());

}  // namespace flotilla::launch
