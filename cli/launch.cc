// flotilla launch, fleetrun: starts the processes of a job and watches them.

#include <cstdio>
#include <string>
#include <vector>

#include "cli/command.h"
#include "flotilla/base/error.h"
#include "flotilla/launch/run.h"

namespace flotilla::cli {

int launch(const std::string& program, const std::vector<std::string>& arguments, bool servers) {
  using launch::Front;
  try {
    const launch::JobOptions options =
        launch::parse_options(arguments, servers ? Front::kLaunchPs : Front::kLaunch);
    launch::Machine machine = launch::this_machine(program);
#ifndef FLT_CUDA
    machine.gpus = 0;  // none that the processes could use
#endif
    return launch::run(options, machine);
  } catch (const launch::HelpAsked& help) {
    std::fputs(help.text.c_str(), stdout);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "fleetrun: %s\n", error.what());
    constexpr int kUsage = 2;
    return kUsage;
  }
}

}  // namespace flotilla::cli
