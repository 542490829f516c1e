// flotilla inspect job: what the processes of a running job do, and what its servers hold.

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <sstream>
#include <thread>

#include "cli/command.h"
#include "flotilla/base/error.h"
#include "flotilla/base/printable.h"
#include "flotilla/job/status_port.h"
#include "flotilla/launch/status_socket.h"
#include "flotilla/ps/metrics_view.h"

namespace flotilla::cli {
namespace {

struct JobToInspect {
  int launcher = 0;  // 0: all of this user that run here
  std::vector<std::string> servers = {};
  double seconds = 1;
};

struct Server {
  std::string name = {};
  Endpoint port = {};
  std::string before = {};
};

void add_server(std::vector<Server>& servers, const std::string& name, const std::string& port) {
  const std::optional<Endpoint> place = find_endpoint(port);
  require(place.has_value(), "a status port must be host:port, but is \"{}\"", printable(port));
  servers.push_back({name, *place});
}

// Prints what a launcher says for people, and notes where its servers tell more.
void inspect_launcher(int launcher, std::vector<Server>& servers) {
  std::istringstream lines(launch::ask_launcher(launcher));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, number, port;
    words >> word >> number >> port;
    if (word == "status") {
      add_server(servers, "server " + number, port);
    } else {
      fmt::print("{}\n", printable(line));
    }
  }
}

// Servers are on their hosts' loopback interfaces: those of other hosts cannot be asked from here.
void inspect_servers(std::vector<Server> servers, double seconds) {
  for (Server& server : servers) server.before = job::read_status(server.port);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  for (const Server& server : servers) {
    fmt::print("{} ({}):\n", printable(server.name), printable(server.port.text()));
    // Whoever has the port now answers, and names tables.
    std::istringstream lines(
        ps::view_metrics(server.before, job::read_status(server.port), seconds));
    for (std::string line; std::getline(lines, line);) fmt::print("{}\n", printable(line));
  }
}

void inspect(const JobToInspect& what) {
  require(what.seconds > 0, "--seconds must be positive, but is {}", what.seconds);
  std::vector<Server> servers;
  if (!what.servers.empty()) {
    for (const std::string& port : what.servers) add_server(servers, "server", port);
    return inspect_servers(std::move(servers), what.seconds);
  }
  std::vector<pid_t> launchers = launch::running_launchers();
  if (what.launcher != 0) launchers = {what.launcher};
  if (launchers.empty()) {
    fmt::print(
        "no launcher of this user is running on this host; for a job without a launcher, name the "
        "status ports of its servers with --servers\n");
  }
  for (const pid_t launcher : launchers) {
    try {
      inspect_launcher(launcher, servers);
      inspect_servers(std::exchange(servers, {}), what.seconds);
    } catch (const Error& error) {
      // Of several, one may end meanwhile.
      if (what.launcher != 0) throw;
      fmt::print("{}\n", printable(error.sentence()));
    }
  }
}

}  // namespace

void add_inspect_job(CLI::App& inspect_command) {
  auto options = std::make_shared<JobToInspect>();
  CLI::App* cmd = inspect_command.add_subcommand(
      "job",
      "Show how far the processes of a running job are, and the tables and load of its servers");
  cmd->add_option(
      "launcher", options->launcher,
      "Process id of the launcher (all launchers of this user on this host by default)");
  cmd->add_option("--servers", options->servers,
                  "Status ports of servers that run without a launcher")
      ->delimiter(',');
  cmd->add_option("--seconds", options->seconds, "How long to measure rates, in seconds")
      ->capture_default_str();
  cmd->callback([options] { inspect(*options); });
}

}  // namespace flotilla::cli
