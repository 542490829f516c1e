// cli/command.h
//
// One function per subcommand, each in a file of its own.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "flotilla/launch/options.h"

namespace flotilla::cli {

// The exit code of the job. `program` is argv[0].
int launch(const std::string& program, const std::vector<std::string>& arguments,
           launch::Front front);

void add_inspect(CLI::App& app);
void add_inspect_job(CLI::App& inspect_command);
void add_inspect_op(CLI::App& inspect_command);
void add_env(CLI::App& app);
void add_check(CLI::App& app);
void add_serve(CLI::App& app);

}  // namespace flotilla::cli
