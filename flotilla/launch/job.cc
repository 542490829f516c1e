#include "flotilla/launch/job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"

namespace flotilla::launch {
namespace {

namespace fs = std::filesystem;

// Where ports begin that every host must know without being told: of collective jobs on several
// hosts, and of workers that were listed without ports.
constexpr int64_t kCollectivePort = 6070;
constexpr int64_t kWorkerPort = 6170;

std::vector<std::string> split(const std::string& text, const char* what) {
  std::vector<std::string> parts = split_list(text);
  require(!parts.empty() && std::count(parts.begin(), parts.end(), "") == 0,
          "{} must be a comma-separated list, but \"{}\" has an empty entry", what, text);
  return parts;
}

void refuse_twice(const std::vector<std::string>& names, const char* what, const char* advice) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    require(seen.insert(name).second, "{} names {} twice{}", what, name, advice);
  }
}

// What a host is asked to start at most: a typing error must not bring it down.
void check_count(int64_t processes, const char* what) {
  constexpr int64_t kMost = 4096;
  require(processes <= kMost, "{} can start at most {} processes on a host, but is {}", what, kMost,
          processes);
}

Endpoint parse_endpoint(const std::string& text, const char* what, bool needs_port) {
  if (const std::optional<Endpoint> found = find_endpoint(text)) return *found;
  const bool bare = text.find(':') == std::string::npos;
  require(!bare || !needs_port, "{} must be host:port, but \"{}\" has no port", what, text);
  require(bare, "{} must be host:port with a port from 1 to 65535, but is \"{}\"", what, text);
  return {text, 0};
}

// Why a script cannot be read; "": it can.
std::string reading_problem(const std::string& script) {
  if (::access(script.c_str(), R_OK) != 0) {
    return errno == ENOENT ? "no such file" : std::strerror(errno);
  }
  return fs::is_regular_file(script) ? "" : "it is not a file";
}

std::vector<std::string> command_of(const JobOptions& options, const Machine& machine) {
  std::vector<std::string> command;
  if (options.module) {
    command = {machine.python, "-u", "-m", options.script};
  } else if (options.script.ends_with(".py")) {
    const std::string problem = reading_problem(options.script);
    require(problem.empty(), "cannot read the script {}: {}", options.script, problem);
    command = {machine.python, "-u", options.script};
  } else {
    command = {options.script};
  }
  command.insert(command.end(), options.script_args.begin(), options.script_args.end());
  return command;
}

// What makes every process of a job: the parts that do not depend on its rank.
struct Maker {
  const JobOptions& options;
  const Machine& machine;
  std::vector<std::string> command;
  int64_t local_processes = 1;

  Process make(const char* role, int64_t rank, int64_t local, const Endpoint& endpoint) const {
    Process process{
        .role = role, .rank = rank, .local = local, .host = endpoint.host, .command = command};
    process.listener = listen_on(endpoint.host, endpoint.port);
    const std::string name = std::string_view(role) == "heter_worker" ? "heter" : role;
    process.log = fmt::format("{}log.{}", name, local);
    if (!env::text("FLT_THREADS") && !env::text("OMP_NUM_THREADS")) {
      const int64_t threads = std::max<int64_t>(1, machine.cores / local_processes);
      process.hidden.emplace_back("OMP_NUM_THREADS", fmt::to_string(threads));
    }
    // Several processes share the cores: threads that spin for long would hold each other up.
    if (!env::text("OMP_WAIT_POLICY") && !env::text("GOMP_SPINCOUNT")) {
      process.hidden.emplace_back("GOMP_SPINCOUNT", "1000");
    }
    return process;
  }
};

int64_t first_port(const JobOptions& options, int64_t otherwise) {
  return options.start_port.value_or(env::number_or("FLAGS_START_PORT", otherwise, 0, 65535));
}

// Hosts that --master brings together: each plans its own part, as if it were alone.
bool meets_at_master(const JobOptions& options) {
  return options.master && options.hosts().most > 1;
}

// How others reach this host.
std::string own_address(const JobOptions& options, const Machine& machine) {
  if (options.node_ip) return *options.node_ip;
  if (const std::optional<std::string> pod = env::text("POD_IP")) return *pod;
  const std::string master = host_of(*options.master);
  return machine.is(master) ? master : address_towards(master);
}

void plan_collective(const JobOptions& options, const Machine& machine, Maker& maker, Job& job) {
  const bool meets = meets_at_master(options);
  job.hosts = meets ? std::vector{own_address(options, machine)}
                    : split(options.ips.value_or("127.0.0.1"), "--ips");
  refuse_twice(job.hosts, "--ips", ": name every host once");
  const bool single = job.hosts.size() == 1;
  job.host = single ? 0 : find_self(job.hosts, options, machine, "--ips");
  const int64_t devices = std::ssize(job.devices.ids);
  const int64_t each = options.nproc_per_node.value_or(std::max<int64_t>(1, devices));
  check_count(each, "--nproc_per_node");
  const bool asked = !options.gpus.value_or("").empty();
  require(devices == 0 || devices % each == 0,
          "--nproc_per_node must divide the number of GPUs, but {} does not divide {}{}", each,
          devices, asked ? "" : "; CUDA_VISIBLE_DEVICES= starts the processes on the CPU");
  maker.local_processes = each;

  const int64_t start = first_port(options, single ? 0 : kCollectivePort);
  std::vector<Endpoint>& all = job.endpoints.workers;
  for (const std::string& host : job.hosts) {
    for (int64_t i = 0; i < each; ++i) all.push_back({host, start == 0 ? 0 : start + i});
  }
  for (int64_t i = 0; i < each; ++i) {
    const int64_t rank = job.host * each + i;
    job.processes.push_back(maker.make("worker", rank, i, all[static_cast<size_t>(rank)]));
    all[static_cast<size_t>(rank)].port = job.processes.back().listener.port;
  }
}

// The endpoints of a role: a list, or so many on this host.
std::vector<Endpoint> endpoints_of(const std::optional<std::string>& list,
                                   const std::optional<int64_t>& count, const char* list_name,
                                   const char* count_name, bool needs_port, const Endpoint& first) {
  std::vector<Endpoint> found;
  if (list && !list->empty()) {
    std::vector<std::string> with_port;
    for (const std::string& text : split(*list, list_name)) {
      found.push_back(parse_endpoint(text, list_name, needs_port));
      if (found.back().port != 0) with_port.push_back(text);
    }
    refuse_twice(with_port, list_name, ": give every process a port of its own");
    require(!count || *count == static_cast<int64_t>(found.size()),
            "{} names {} processes, but {} is {}", list_name, found.size(), count_name,
            count.value_or(0));
    return found;
  }
  check_count(count.value_or(0), count_name);
  for (int64_t i = 0; i < count.value_or(0); ++i) {
    found.push_back({first.host, first.port == 0 ? 0 : first.port + i});
  }
  return found;
}

// Processes of two roles cannot listen on one port.
void refuse_shared_ports(const Endpoints& all) {
  std::map<std::string, const char*> taken;
  const auto take = [&](const std::vector<Endpoint>& list, const char* option) {
    for (const Endpoint& endpoint : list) {
      if (endpoint.port == 0) continue;
      const auto [other, is_new] = taken.emplace(endpoint.text(), option);
      require(is_new, "{} and {} both name {}: give every process a port of its own", other->second,
              option, endpoint.text());
    }
  };
  take(all.servers, "--servers");
  take(all.workers, "--workers");
  take(all.heters, "--heter_workers");
}

// All endpoints of the job as the options name them; ports that nobody said are 0.
Endpoints read_endpoints(const JobOptions& options, const Machine& machine) {
  Endpoint first{"127.0.0.1", first_port(options, 0)};
  if (meets_at_master(options)) first.host = own_address(options, machine);
  const auto pass = [&](const std::vector<Endpoint>& list) {
    if (first.port != 0) first.port += std::ssize(list);
  };
  Endpoints all;
  all.servers =
      endpoints_of(options.servers, options.server_num, "--servers", "--server_num", true, first);
  require(
      !all.servers.empty(),
      "a parameter-server job needs servers: give --server_num, or --servers with their endpoints");
  pass(all.servers);
  all.workers =
      endpoints_of(options.workers, options.worker_num, "--workers", "--worker_num", false, first);
  require(!all.workers.empty(),
          "a parameter-server job needs workers: give --worker_num, or --workers with their hosts");
  pass(all.workers);
  all.heters = endpoints_of(options.heter_workers, options.heter_worker_num, "--heter_workers",
                            "--heter_worker_num", false, first);
  refuse_shared_ports(all);
  return all;
}

void plan_servers(const JobOptions& options, const Machine& machine, Maker& maker, Job& job) {
  job.endpoints = read_endpoints(options, machine);
  auto& [servers, workers, heters] = job.endpoints;
  // Hosts in the order in which they first appear. Ports of workers that were not said are counted
  // up on each host, so that all hosts find the same ones.
  for (const std::vector<Endpoint>* list : {&servers, &workers, &heters}) {
    for (const Endpoint& endpoint : *list) {
      if (std::find(job.hosts.begin(), job.hosts.end(), endpoint.host) == job.hosts.end()) {
        job.hosts.push_back(endpoint.host);
      }
    }
  }
  const bool single = job.hosts.size() == 1;
  job.host = single ? 0 : find_self(job.hosts, options, machine, "the hosts of the job");
  const std::string& here = job.hosts[static_cast<size_t>(job.host)];
  if (!single) {
    int64_t port = kWorkerPort + static_cast<int64_t>(servers.size());
    for (std::vector<Endpoint>* list : {&workers, &heters}) {
      for (Endpoint& endpoint : *list) {
        if (endpoint.port == 0) endpoint.port = port++;
      }
    }
  }
  const auto count_here = [&](const std::vector<Endpoint>& list) {
    return std::count_if(list.begin(), list.end(),
                         [&](const Endpoint& e) { return e.host == here; });
  };
  maker.local_processes = std::max<int64_t>(1, count_here(workers) + count_here(heters));

  const auto add = [&](const char* role, std::vector<Endpoint>& list) {
    int64_t local = 0;
    for (size_t rank = 0; rank < list.size(); ++rank) {
      if (list[rank].host != here) continue;
      job.processes.push_back(maker.make(role, static_cast<int64_t>(rank), local++, list[rank]));
      list[rank].port = job.processes.back().listener.port;
    }
  };
  add("server", servers);
  add("worker", workers);
  add("heter_worker", heters);
}

Mode mode_of(const JobOptions& options) {
  if (options.run_mode)
    return *options.run_mode == "collective" ? Mode::kCollective : Mode::kServers;
  if (options.front == Front::kLaunchPs) return Mode::kServers;
  return options.server_options_said.empty() ? Mode::kCollective : Mode::kServers;
}

}  // namespace

int64_t find_self(const std::vector<std::string>& hosts, const JobOptions& options,
                  const Machine& machine, const char* what) {
  if (options.rank.value_or(-1) >= 0) {
    require(*options.rank < std::ssize(hosts), "--rank is {}, but {} names only {} hosts",
            *options.rank, what, hosts.size());
    return *options.rank;
  }
  const std::optional<std::string> said = options.node_ip ? options.node_ip : env::text("POD_IP");
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (said ? hosts[i] == *said : machine.is(hosts[i])) return static_cast<int64_t>(i);
  }
  refuse("this host must be one of {} ({}), but {}", what, fmt::join(hosts, ", "),
         said ? fmt::format("it was given as {}", *said)
              : fmt::format("its own addresses are {}. Name it with --host",
                            fmt::join(machine.addresses, ", ")));
}

Job plan_job(const JobOptions& options, const Machine& machine) {
  Job job{.mode = mode_of(options),
          .gpu_count = machine.gpus,
          .devices = choose_devices(options, machine),
          .log_dir = options.log_dir.value_or("log")};
  job.notices = options.notices;
  if (!job.devices.notice.empty()) job.notices.push_back(job.devices.notice);
  Maker maker{options, machine, command_of(options, machine)};
  if (job.mode == Mode::kCollective) {
    plan_collective(options, machine, maker, job);
  } else {
    plan_servers(options, machine, maker, job);
  }
  if (meets_at_master(options)) return job;
  const HostCount count = options.hosts();
  const int64_t hosts = std::ssize(job.hosts);
  require(!options.nnodes || (count.least <= hosts && hosts <= count.most),
          "--nnodes is {}, but {} hosts are listed", options.nnodes.value_or(""), hosts);
  if (hosts > 1) {
    const int64_t port =
        options.http_port.value_or(env::number_or("FLT_STORE_PORT", kStorePort, 1, 65535));
    job.store = Endpoint{job.hosts[0], port}.text();
    if (job.host == 0) job.serve_at = job.store;
  }
  describe_processes(job);
  return job;
}

}  // namespace flotilla::launch
