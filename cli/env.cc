// flotilla env: the environment variables that Flotilla reads, what they mean and what they are.

#include "flotilla/base/env.h"

#include <fmt/format.h>

#include "cli/command.h"

namespace flotilla::cli {

void add_env(CLI::App& app) {
  CLI::App* cmd = app.add_subcommand("env", "List the environment variables that are read");
  cmd->callback([] {
    for (const env::Known& known : env::known_variables()) {
      fmt::print("{:<20} {:<24} {}\n", known.name, env::text_or(known.name, "-"), known.doc);
    }
  });
}

}  // namespace flotilla::cli
