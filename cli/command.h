// cli/command.h
//
// One function per subcommand, each in a file of its own.

#pragma once

#include <CLI/CLI.hpp>

namespace flotilla::cli {

void add_inspect(CLI::App& app);
void add_env(CLI::App& app);

}  // namespace flotilla::cli
