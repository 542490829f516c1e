// flotilla serve: a parameter server, without Python. Who it is say Paddle's variables, as for a
// script that calls fleet.run_server(), or the options.
//
//   flotilla serve --servers 10.0.0.1:6000,10.0.0.2:6000 --index 0 --workers 4 --dir tables

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/fleet/role.h"
#include "flotilla/job/membership.h"
#include "flotilla/job/stop_signals.h"
#include "flotilla/job/table_server.h"

namespace flotilla::cli {
namespace {

struct ServeOptions {
  std::vector<std::string> servers = {};
  int64_t index = 0;
  int64_t workers = 1;
  std::string directory = {};
  std::string load = {};
  int64_t status_port = -1;
  double snapshot_seconds = -1;
};

fleet::Role role_of(const ServeOptions& options) {
  if (options.servers.empty()) {
    require(env::text("PADDLE_PSERVERS_IP_PORT_LIST") || env::text("PADDLE_PSERVER_IPS"),
            "flotilla serve needs the list of servers of its job: give --servers host:port,..., or "
            "set PADDLE_PSERVERS_IP_PORT_LIST, TRAINING_ROLE=PSERVER, POD_IP and PADDLE_PORT");
    return fleet::role_from_environment(/*collective=*/false);
  }
  fleet::Role role{.kind = fleet::RoleKind::kServer,
                   .index = options.index,
                   .workers = options.workers,
                   .server_endpoints = options.servers};
  fleet::check(role, "flotilla serve");
  role.endpoint = role.server_endpoints[static_cast<size_t>(options.index)];
  return role;
}

void serve(const ServeOptions& options) {
  const fleet::Role role = role_of(options);
  job::TableServerOptions settings = job::table_server_options(role);
  if (!options.directory.empty()) settings.directory = options.directory;
  if (options.status_port >= 0) settings.status_port = options.status_port;
  if (options.snapshot_seconds >= 0) settings.snapshot_seconds = options.snapshot_seconds;
  const job::StopSignals signals({SIGTERM, SIGINT});
  std::atomic<bool> joined = false;
  // Afterwards the server ends by itself, with what it has to write.
  const auto ended = [&] { return !joined && signals.seen() != 0; };
  const auto listen = [&] {
    if (!ended()) return;
    throw Error(ErrorKind::kUnavailable,
                fmt::format("server {} was asked to stop ({}) before it joined the job", role.index,
                            strsignal(signals.seen())));
  };
  settings.stop = [&] { return signals.seen() != 0; };
  const std::unique_ptr<job::Membership> membership =
      job::Membership::join(role, nullptr, {.while_waiting = listen, .interrupted = ended});
  invariant(membership != nullptr, "a job with servers has a store");
  joined = true;
  job::TableServer server(*membership, std::move(settings));
  if (!options.load.empty()) server.load(options.load);
  log::info("server {} of {} is listening on {}", role.index, role.servers(), server.address());
  const std::string why = server.run([&] {
    if (signals.seen() != 0) server.stop();
  });
  require(why.empty(), "the job stopped: {}", why);
  if (const int signal = signals.seen(); signal != 0) membership->end_store(signal);
}

}  // namespace

void add_serve(CLI::App& app) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* cmd =
      app.add_subcommand("serve", "Run a parameter server until all workers of the job have left");
  cmd->add_option("--servers", options->servers,
                  "All servers of the job as host:port (PADDLE_PSERVERS_IP_PORT_LIST by default)")
      ->delimiter(',');
  cmd->add_option("--index", options->index, "Index of this server in the list")
      ->capture_default_str();
  cmd->add_option("--workers", options->workers, "Number of workers in the job")
      ->capture_default_str();
  cmd->add_option("--dir", options->directory,
                  "Folder of the logs and snapshots of all servers (FLT_PS_DIR by default)");
  cmd->add_option("--load", options->load, "Checkpoint to load at the start");
  cmd->add_option("--status_port", options->status_port, "Port of GET /metrics on 127.0.0.1");
  cmd->add_option("--snapshot_seconds", options->snapshot_seconds,
                  "Seconds between snapshots (300 by default)");
  cmd->callback([options] { serve(*options); });
}

}  // namespace flotilla::cli
