// flotilla launch, fleetrun: starts the processes of a job and watches them.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/command.h"
#include "flotilla/device/gpu.h"
#include "flotilla/launch/output_writer.h"
#include "flotilla/launch/report.h"
#include "flotilla/launch/run.h"

namespace flotilla::cli {

int launch(const std::string& program, const std::vector<std::string>& arguments,
           launch::Front front) {
  if (!arguments.empty() && arguments.front() == "--version") {
    fmt::print("{}\n", FLT_VERSION);
    return 0;
  }
  launch::JobOptions options;
  try {
    options = launch::parse_options(arguments, front);
    launch::Machine machine = launch::this_machine(program);
    if (!built_with_gpus()) machine.gpus = 0;  // none that the processes could use
    return launch::run(options, machine);
  } catch (const launch::HelpAsked& help) {
    std::fputs(help.text.c_str(), stdout);
    return 0;
  } catch (const std::exception& error) {
    launch::OutputWriter writer;
    // Of an --events_fd that is none people are told.
    const int events = static_cast<int>(options.events_fd);
    if (events < 0 || fcntl(events, F_GETFD) < 0) {
      writer.write(STDERR_FILENO, fmt::format("fleetrun: {}\n", error.what()));
    } else {
      writer.write(events, fmt::format("{{\"event\":\"refused\",\"why\":{}}}\n",
                                       launch::in_quotes(error.what())));
    }
    constexpr int kUsage = 2;
    return kUsage;
  }
}

}  // namespace flotilla::cli
