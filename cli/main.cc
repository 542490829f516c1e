// flotilla: the command line. `fleetrun` is another name of this binary.

#include <cstdio>
#include <exception>

#include "cli/command.h"

int main(int argc, char** argv) {
  CLI::App app("Flotilla trains PaddlePaddle Fleet programs.", "flotilla");
  app.require_subcommand(1);
  app.set_version_flag("--version", FLT_VERSION);
  flotilla::cli::add_inspect(app);
  flotilla::cli::add_env(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "flotilla: %s\n", error.what());
    return 1;
  }
  return 0;
}
