// flotilla env: the environment variables that Flotilla reads, what they mean and what they are.

#include "flotilla/base/env.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cli/command.h"

namespace flotilla::cli {
namespace {

// A secret is not for the screen, nor for a report into which this list is pasted.
std::string shown(std::string_view name) {
  const std::string value = env::text_or(name, "-");
  return name.ends_with("_TOKEN") && name != "FLT_REQUIRE_TOKEN" && value != "-" ? "(set)" : value;
}

}  // namespace

void add_env(CLI::App& app) {
  CLI::App* cmd = app.add_subcommand("env", "List the environment variables that Flotilla reads");
  cmd->callback([] {
    size_t name = 0;
    size_t value = 0;
    for (const env::Known& known : env::known_variables()) {
      name = std::max(name, std::string_view(known.name).size());
      value = std::max(value, shown(known.name).size());
    }
    value = std::min<size_t>(value, 24);  // a longer one moves its own line only
    for (const env::Known& known : env::known_variables()) {
      fmt::print("{:<{}}  {:<{}}  {}\n", known.name, name, shown(known.name), value, known.doc);
    }
  });
}

}  // namespace flotilla::cli
