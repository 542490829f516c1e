// flotilla: the command line. `fleetrun` is another name of this binary.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "flotilla/base/error.h"

int main(int argc, char** argv) {
  constexpr int kUsage = 2;  // of a command line that is refused
  using flotilla::launch::Front;
  constexpr std::pair<std::string_view, Front> kFronts[] = {
      {"launch", Front::kLaunch}, {"launch_ps", Front::kLaunchPs}, {"spawn", Front::kSpawn}};
  // The launcher reads its command line itself: what follows the script is not ours.
  std::vector<std::string> words(argv + 1, argv + argc);
  if (std::filesystem::path(argv[0]).filename() == "fleetrun") {
    return flotilla::cli::launch(argv[0], words, Front::kLaunch);
  }
  for (const auto& [name, front] : kFronts) {
    if (words.empty() || words[0] != name) continue;
    words.erase(words.begin());
    return flotilla::cli::launch(argv[0], words, front);
  }
  constexpr std::string_view kCommands[] = {"launch", "inspect", "env", "check", "serve"};
  if (!words.empty() && !words[0].starts_with("-") &&
      std::ranges::find(kCommands, words[0]) == std::end(kCommands)) {
    fmt::print(stderr, "flotilla: unknown command \"{}\".{} The commands are {}\n", words[0],
               flotilla::did_you_mean(words[0], {std::begin(kCommands), std::end(kCommands)}),
               fmt::join(kCommands, ", "));
    return kUsage;
  }
  CLI::App app("Flotilla trains PaddlePaddle Fleet programs.", "flotilla");
  app.require_subcommand(1);
  app.set_version_flag("--version", FLT_VERSION);
  app.add_subcommand("launch", "Start the processes of a job; the same as fleetrun");
  flotilla::cli::add_inspect(app);
  flotilla::cli::add_env(app);
  flotilla::cli::add_check(app);
  flotilla::cli::add_serve(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Codes of CLI11 itself begin at 100; others are what a command has found.
    constexpr int kOfParser = 100;
    const int code = app.exit(error);
    return code < kOfParser ? code : kUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "flotilla: %s\n", error.what());
    return 1;
  }
  return 0;
}
