// flotilla/launch/options.h
//
// The command lines of the launcher, in the words of every era, as one value.
//
//   fleetrun --gpus 0,1 train.py --epochs 3
//            ~~~~~~~~~~ ours   ~~~~~~~~~~ the script's, whatever they are
//
// Options end at the script. Whatever comes before it must be known: an option is never taken for
// the script, and the script's arguments are never taken for ours.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flotilla::launch {

// The launchers of Paddle whose words and defaults differ.
enum class Front {
  kLaunch,    // fleetrun, python -m paddle.distributed.launch
  kLaunchPs,  // python -m paddle.distributed.launch_ps
  kSpawn,     // paddle.distributed.spawn: a job of this host alone, whatever the environment says
};

// Where the first of several hosts serves the store, unless FLT_STORE_PORT says otherwise.
inline constexpr int64_t kStorePort = 6069;

// How many hosts: --nnodes 2, or --nnodes 2:4.
struct HostCount {
  int64_t least = 1;
  int64_t most = 1;
};

struct JobOptions {
  Front front = Front::kLaunch;

  // Where and how many. Nothing: not said, which is not the same as a default that was said.
  std::optional<std::string> gpus = {};  // --gpus, --selected_gpus, --devices, --xpus, --npus
  std::optional<int64_t> nproc_per_node = {};
  std::optional<int64_t> worker_num = {};
  std::optional<int64_t> server_num = {};
  std::optional<int64_t> heter_worker_num = {};
  std::optional<std::string> workers = {};
  std::optional<std::string> servers = {};
  std::optional<std::string> heter_workers = {};
  std::optional<std::string> ips = {};      // --ips, --cluster_node_ips
  std::optional<std::string> node_ip = {};  // --host, --node_ip: which of them is this host
  std::optional<std::string> master = {};
  std::optional<std::string> nnodes = {};  // "2" or "2:4"
  std::optional<int64_t> rank = {};
  std::optional<int64_t> http_port = {};
  std::optional<int64_t> start_port = {};
  std::optional<std::string> run_mode = {};  // collective, ps, ps-heter
  std::string job_id = "default";

  // Where servers keep their logs and snapshots: kept, and continued by the next job that names it.
  // Nothing: a folder that goes with the job.
  std::optional<std::string> ps_dir = {};

  // What becomes of the output.
  std::optional<std::string> log_dir = {};  // empty: no files, all of it on the terminal
  bool print_config = true;
  bool tee = false;    // every process's output on the terminal, not only the first worker's
  bool quiet = false;  // nothing from the launcher itself but errors
  bool json = false;   // the last line of stdout is the result as JSON

  // When something goes wrong.
  // Nothing: servers that are killed are started again a few times, nobody else.
  std::optional<int64_t> max_restart = {};
  std::string worker_failure = "stop";  // or "continue": the others go on; with servers only
  double stall_timeout = 0;             // seconds until a stuck process ends the job; 0: never
  double stall_warning = 300;           // until it is shown, with where everyone stands; 0: never
  double outage_limit = 30;             // seconds of silence until another host is lost
  int64_t elastic_level = -1;
  // How long hosts beyond the least number of --nnodes may take, once that many are there.
  double elastic_timeout = 5;

  // For programs that start the launcher.
  int64_t events_fd = -1;  // a descriptor for a line of JSON per event; -1: none
  int64_t parent_pid = 0;  // the job ends with this process; 0: with none

  // What is run: a file that ends in .py, a module (-m), or any program.
  bool module = false;
  std::string script = {};
  std::vector<std::string> script_args = {};

  // What looks like a slip, one sentence each.
  std::vector<std::string> notices = {};

  // The mode options that were said, in the order of the launcher's own list, for its log line.
  std::vector<std::string> server_options_said = {};
  std::vector<std::string> collective_options_said = {};

  HostCount hosts() const;
};

// Refuses what is unknown (with the nearest known option), incomplete or not a number, each in one
// sentence. Variables of the environment (PADDLE_MASTER, PADDLE_NNODES, ...) stand in for options
// that were not said, and those of schedulers (schedulers.h). `help` is thrown as no error: see
// HelpAsked.
JobOptions parse_options(std::span<const std::string> arguments, Front front);

// --help was said; the text is what to print.
struct HelpAsked {
  std::string text = {};
};

}  // namespace flotilla::launch
