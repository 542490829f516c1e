#include "flotilla/launch/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/launch/schedulers.h"
#include "flotilla/rpc/outage.h"

namespace flotilla::launch {
namespace {

using Text = std::optional<std::string> JobOptions::*;
using Number = std::optional<int64_t> JobOptions::*;
using PlainText = std::string JobOptions::*;
using PlainNumber = int64_t JobOptions::*;
using Seconds = double JobOptions::*;
using Switch = bool JobOptions::*;
using Target = std::variant<Text, Number, PlainText, PlainNumber, Seconds, Switch>;

struct Flag {
  const char* name;
  Target target;
  const char* doc;
  const char* variable = nullptr;  // of the environment: stands in where the option is not said
};

const std::vector<Flag>& flags() {
  using J = JobOptions;
  static const std::vector<Flag> all = {
      {"gpus", &J::gpus, "GPUs, one process for each, e.g. 0,1,2,3", "PADDLE_DEVICES"},
      {"nproc_per_node", &J::nproc_per_node, "processes on each host", "PADDLE_NPROC_PER_NODE"},
      {"worker_num", &J::worker_num, "workers of a parameter-server job on this host",
       "PADDLE_TRAINER_NUM"},
      {"server_num", &J::server_num, "parameter servers on this host", "PADDLE_SERVER_NUM"},
      {"heter_worker_num", &J::heter_worker_num, "heterogeneous workers on this host"},
      {"workers", &J::workers, "workers of all hosts: ip or ip:port, comma-separated",
       "PADDLE_TRAINERS_ENDPOINTS"},
      {"servers", &J::servers, "parameter servers of all hosts: ip:port, comma-separated",
       "PADDLE_SERVERS_ENDPOINTS"},
      {"heter_workers", &J::heter_workers, "heterogeneous workers of all hosts"},
      {"ips", &J::ips, "the hosts of a collective job, comma-separated", "PADDLE_IPS"},
      {"host", &J::node_ip, "which of the hosts this one is; detected by default"},
      {"master", &J::master, "address of the job's store: ip:port of the first host",
       "PADDLE_MASTER"},
      {"nnodes", &J::nnodes, "number of hosts, or a range min:max", "PADDLE_NNODES"},
      {"rank", &J::rank, "index of this host, from 0", "PADDLE_RANK"},
      {"http_port", &J::http_port, "port of the store on the first host", "PADDLE_GLOO_PORT"},
      {"start_port", &J::start_port, "first port of the processes on this host",
       "PADDLE_START_PORT"},
      {"run_mode", &J::run_mode, "collective, ps or ps-heter", "PADDLE_RUN_MODE"},
      {"job_id", &J::job_id, "name of the job", "PADDLE_JOB_ID"},
      {"ps_dir", &J::ps_dir, "folder where servers keep their tables between jobs", "FLT_PS_DIR"},
      {"log_dir", &J::log_dir, "folder for the output of the processes; empty: no files",
       "PADDLE_LOG_DIR"},
      {"print_config", &J::print_config, "print the configuration at the start"},
      {"tee", &J::tee, "show the output of all processes, not only of the first worker"},
      {"quiet", &J::quiet, "print only errors"},
      {"json", &J::json, "print a summary as one line of JSON at the end"},
      {"max_restart", &J::max_restart, "how many times to restart failed processes",
       "PADDLE_MAX_RESTART"},
      {"worker_failure", &J::worker_failure,
       "when a worker fails: stop, or continue without it (only with servers)"},
      {"stall_timeout", &J::stall_timeout,
       "seconds without progress after which the job is ended; 0: never"},
      {"stall_warning", &J::stall_warning,
       "seconds without progress after which a warning is shown; 0: never"},
      {"outage_limit", &J::outage_limit,
       "seconds of silence after which a host is considered lost, 0.5 to 600", "FLT_OUTAGE_LIMIT"},
      {"elastic_level", &J::elastic_level, "-1: the number of hosts is fixed",
       "PADDLE_ELASTIC_LEVEL"},
      {"elastic_timeout", &J::elastic_timeout,
       "seconds to wait for more hosts with --nnodes min:max", "PADDLE_ELASTIC_TIMEOUT"},
      {"events_fd", &J::events_fd,
       "file descriptor for events: one line of JSON for each start and end"},
      {"parent_pid", &J::parent_pid,
       "end the job when this process, which started the launcher, ends"},
  };
  return all;
}

// Other names of options, and options of other launchers that change nothing here.
constexpr std::pair<const char*, const char*> kAliases[] = {
    {"selected_gpus", "gpus"},
    {"devices", "gpus"},
    {"xpus", "gpus"},
    {"selected_xpus", "gpus"},
    {"npus", "gpus"},
    {"trainer_num", "worker_num"},
    {"trainers", "workers"},
    {"endpoints", "servers"},
    {"cluster_node_ips", "ips"},
    {"node_ip", "host"},
    {"gloo_port", "http_port"},
    {"started_port", "start_port"},
    {"backend", ""},
    {"log_level", ""},
    {"log_overwrite", ""},
    {"with_gloo", ""},
    {"sort_ip", ""},
    {"enable_gpu_log", ""},
    {"legacy", ""},
    {"use_paddlecloud", ""},
    {"auto_parallel_config", ""},
    {"auto_tuner_json", ""},
    {"cluster_topo_path", ""},
    {"rank_mapping_path", ""},
    {"enable_auto_mapping", ""},
    {"heter_devices", ""},
};

// launch_ps took these and started everything on one host.
constexpr const char* kUnusedByLaunchPs[] = {"cluster_node_ips", "node_ip"};

// Those by which the launcher chooses the mode, in the order in which it lists them.
constexpr const char* kServerFlags[] = {"worker_num", "server_num", "heter_worker_num",
                                        "servers",    "workers",    "heter_workers",
                                        "http_port"};

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return number;
}

int64_t number_of(const std::string& who, const std::string& text, int64_t least) {
  const std::optional<int64_t> number = whole_number(text);
  require(number && *number >= least, "{} must be a whole number of at least {}, but is \"{}\"",
          who, least, text);
  return *number;
}

bool truth_of(const std::string& who, const std::string& text) {
  for (const char* yes : {"1", "true", "True", "yes", "on", ""}) {
    if (text == yes) return true;
  }
  for (const char* no : {"0", "false", "False", "no", "off"}) {
    if (text == no) return false;
  }
  refuse("{} must be true or false, but is \"{}\"", who, text);
}

double seconds_of(const std::string& who, const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  require(error == std::errc() && stopped == end && number >= 0,
          "{} must be a number of seconds, but is \"{}\"", who, text);
  return number;
}

// The smallest value that makes sense.
int64_t least_of(std::string_view name) {
  if (name == "rank" || name == "elastic_level") return -1;
  if (name == "heter_worker_num") return 0;
  return name.ends_with("_num") || name.starts_with("nproc") ? 1 : 0;
}

void store(JobOptions& options, const Flag& flag, const std::string& who, const std::string& text) {
  std::visit(
      [&](auto target) {
        using T = decltype(target);
        if constexpr (std::is_same_v<T, Text> || std::is_same_v<T, PlainText>) {
          options.*target = text;
        } else if constexpr (std::is_same_v<T, Number> || std::is_same_v<T, PlainNumber>) {
          options.*target = number_of(who, text, least_of(flag.name));
        } else if constexpr (std::is_same_v<T, Seconds>) {
          options.*target = seconds_of(who, text);
        } else if constexpr (std::is_same_v<T, Switch>) {
          options.*target = truth_of(who, text);
        }
      },
      flag.target);
}

// Null: an option that changes nothing.
const Flag* find_flag(const std::string& argument, std::string_view name, Front front) {
  if (front == Front::kLaunchPs &&
      std::ranges::find(kUnusedByLaunchPs, name) != std::end(kUnusedByLaunchPs)) {
    return nullptr;
  }
  std::vector<std::string> known;
  std::string_view wanted = name;
  for (const auto& [alias, meant] : kAliases) {
    if (name == alias) wanted = meant;
    known.push_back(fmt::format("--{}", alias));
  }
  if (wanted.empty()) return nullptr;
  for (const Flag& flag : flags()) {
    if (wanted == flag.name) return &flag;
    known.push_back(fmt::format("--{}", flag.name));
  }
  refuse("the launcher has no option \"{}\".{} Put the script's own options after its name",
         argument, did_you_mean(fmt::format("--{}", name), known));
}

// Options that scripts have, too: after the script they are its own.
constexpr const char* kOfScripts[] = {"host",     "rank",   "tee",     "quiet",    "json",
                                      "trainers", "job_id", "backend", "endpoints"};
// Those that are as often meant for the launcher: they are the script's own where it names them.
constexpr const char* kOfSomeScripts[] = {"workers", "devices", "log_dir"};

// Whether a script has an option, as argparse, click or absl want it: "--name", or a text "name". A
// module, whose file is not known, may have any.
bool may_have(const JobOptions& options, std::string_view name) {
  std::ifstream file(options.script);
  if (options.module || !file) return true;
  const std::string text(std::istreambuf_iterator<char>(file), {});
  for (const std::string& way :
       {fmt::format("--{}", name), fmt::format("\"{}\"", name), fmt::format("'{}'", name)}) {
    if (text.find(way) != std::string::npos) return true;
  }
  return false;
}

// `fleetrun train.py --nproc_per_node 2` starts one worker and hands the rest to the script.
std::vector<std::string> notices_on(const JobOptions& options) {
  std::vector<std::string> notices;
  for (const std::string& argument : options.script_args) {
    const std::string word = argument.substr(0, argument.find('='));
    if (!word.starts_with("--")) continue;
    const std::string_view name = std::string_view(word).substr(2);
    const auto known = [&](const char* other) { return name == other; };
    if (std::ranges::any_of(kOfScripts, known)) continue;
    if (std::ranges::any_of(kOfSomeScripts, known) && may_have(options, name)) continue;
    const bool ours = std::ranges::any_of(flags(), known, &Flag::name) ||
                      std::ranges::any_of(kAliases, [&](const auto& alias) {
                        return name == alias.first && *alias.second != '\0';
                      });
    if (!ours) continue;
    notices.push_back(
        fmt::format("{0} comes after {1}, so it is passed to {1} and not to the launcher: if it is "
                    "meant for the launcher, put it before {1}",
                    word, options.script));
  }
  return notices;
}

// A switch takes a value only behind "=", save --print_config, which always had one.
bool takes_a_word(const Flag* flag, std::string_view name) {
  if (flag == nullptr) return name != "use_paddlecloud" && name != "enable_gpu_log";
  return !std::holds_alternative<Switch>(flag->target) || name == "print_config";
}

// "--node_ip": the other names of an option; of "": those that change nothing.
std::string aliases_of(std::string_view name) {
  std::vector<std::string> found;
  for (const auto& [alias, meant] : kAliases) {
    if (name == meant) found.push_back(fmt::format("--{}", alias));
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

// How --help sorts the options; those that no group names come last.
struct Group {
  const char* title;
  std::vector<std::string_view> names;
};

const std::vector<Group>& groups() {
  static const std::vector<Group> all = {
      {"Processes",
       {"nproc_per_node", "gpus", "worker_num", "server_num", "heter_worker_num", "run_mode",
        "ps_dir"}},
      {"Several hosts",
       {"ips", "host", "servers", "workers", "heter_workers", "master", "nnodes", "rank",
        "http_port", "start_port", "job_id", "elastic_level", "elastic_timeout"}},
      {"Output", {"log_dir", "tee", "quiet", "json", "print_config"}},
      {"Failures",
       {"max_restart", "worker_failure", "stall_warning", "stall_timeout", "outage_limit"}},
  };
  return all;
}

// What an option is where it is not given; "": its description says.
std::string default_of(const Flag& flag) {
  static const JobOptions defaults;
  const std::string text = std::visit(
      [](auto target) -> std::string {
        using T = decltype(target);
        if constexpr (std::is_same_v<T, PlainText>) return defaults.*target;
        if constexpr (std::is_same_v<T, Seconds>) return fmt::format("{:g}", defaults.*target);
        if constexpr (std::is_same_v<T, Switch>) return defaults.*target ? "true" : "false";
        return "";
      },
      flag.target);
  if (!text.empty()) return text;
  constexpr std::pair<std::string_view, const char*> kOthers[] = {
      {"nproc_per_node", "1, or one per GPU"},
      {"gpus", "all"},
      {"log_dir", "log"},
      {"ips", "127.0.0.1"},
      {"max_restart", "0; for killed servers 3"},
      {"elastic_level", "-1"}};
  for (const auto& [name, value] : kOthers) {
    if (name == flag.name) return value;
  }
  return "";
}

std::string help_of(const Flag& flag) {
  const std::string initial = default_of(flag);
  std::string text = fmt::format("  --{:<18} {}{}\n", flag.name, flag.doc,
                                 initial.empty() ? "" : fmt::format(" [{}]", initial));
  if (const std::string others = aliases_of(flag.name); !others.empty()) {
    text += fmt::format("  {:<20} also {}\n", "", others);
  }
  return text;
}

std::string help_text() {
  std::string text =
      "usage: fleetrun [options] script.py [script arguments]\n       fleetrun [options] -m module "
      "[...] | program [...]\n\n  fleetrun --nproc_per_node 2 train.py --epochs 3       two "
      "workers on this host\n  fleetrun --server_num 2 --worker_num 4 train.py       parameter "
      "servers and workers\n  fleetrun --ips 10.0.0.1,10.0.0.2 train.py             run the same "
      "command on each host\n\nOptions go before the script. Defaults are in [brackets].\n";
  std::vector<const Flag*> left;
  for (const Flag& flag : flags()) left.push_back(&flag);
  for (const Group& group : groups()) {
    text += fmt::format("\n{}:\n", group.title);
    for (const std::string_view name : group.names) {
      const auto found =
          std::ranges::find_if(left, [&](const Flag* flag) { return name == flag->name; });
      if (found == left.end()) continue;
      text += help_of(**found);
      left.erase(found);
    }
  }
  text += "\nOther options:\n";
  for (const Flag* flag : left) text += help_of(*flag);
  text +=
      "  --version            print the version and exit\n  --help               print this help "
      "and exit\n";
  return text + fmt::format("\nAccepted for compatibility with other launchers, and ignored: {}\n",
                            aliases_of(""));
}

// The mode options in the order of the launcher's own list.
void note_mode(JobOptions& options, const std::vector<const Flag*>& said) {
  for (const char* name : kServerFlags) {
    for (const Flag* flag : said) {
      if (std::string_view(flag->name) != name) continue;
      options.server_options_said.push_back(fmt::format("--{}", name));
      break;
    }
  }
  for (const Flag* flag : said) {
    if (std::string_view(flag->name) == "ips") options.collective_options_said = {"--ips"};
  }
}

void take_environment(JobOptions& options, std::vector<const Flag*>& said) {
  for (const Flag& flag : flags()) {
    if (flag.variable == nullptr || std::find(said.begin(), said.end(), &flag) != said.end()) {
      continue;
    }
    const std::optional<std::string> value = env::text(flag.variable);
    if (!value) continue;
    store(options, flag, flag.variable, *value);
    said.push_back(&flag);
  }
}

// PaddleCloud and the PaddleJob operator start the launcher in every pod, without a list of hosts.
void take_cloud(JobOptions& options) {
  if (options.ips || options.master || !options.server_options_said.empty()) return;
  for (const char* name : {"TRAINER_PORTS_NUM", "POD_IP", "PADDLE_TRAINER_ID"}) {
    if (!env::text(name)) return;
  }
  if (env::list("PADDLE_TRAINERS").size() < 2) return;
  options.ips = env::text("PADDLE_TRAINERS");
  if (!options.start_port) options.start_port = env::number_or("PADDLE_PORT", 6170, 1, 65535);
}

void check_hosts(const JobOptions& options) {
  const HostCount count = options.hosts();
  if (options.master) {
    require(find_endpoint(*options.master).has_value(), "--master must be host:port, but is \"{}\"",
            *options.master);
  }
  const bool listed = !options.ips.value_or("").empty() || !options.workers.value_or("").empty() ||
                      !options.servers.value_or("").empty();
  require(count.most == 1 || options.master || listed,
          "--nnodes {} means several hosts: give the address of the first one with --master, or "
          "list all of them with --ips",
          options.nnodes.value_or(""));
  require(!(options.master && count.most > 1 && listed),
          "--master finds the hosts by itself and cannot be combined with --ips, --servers or "
          "--workers");
  require(!options.rank || *options.rank < count.most || listed,
          "--rank must be less than the number of hosts, but is {} of {}", options.rank.value_or(0),
          count.most);
}

void check(const JobOptions& options) {
  require(!options.script.empty(),
          "no script, -m module or program is given after the options. See --help");
  if (options.run_mode) {
    require(*options.run_mode == "collective" || *options.run_mode == "ps" ||
                *options.run_mode == "ps-heter",
            "--run_mode must be collective, ps or ps-heter, but is \"{}\"", *options.run_mode);
  }
  require(options.worker_failure == "stop" || options.worker_failure == "continue",
          "--worker_failure must be stop or continue, but is \"{}\"", options.worker_failure);
  require(rpc::Outage::kLeast <= options.outage_limit && options.outage_limit <= rpc::Outage::kMost,
          "--outage_limit must be from {} to {} seconds, but is {}", rpc::Outage::kLeast,
          rpc::Outage::kMost, options.outage_limit);
  require(
      options.collective_options_said.empty() || options.server_options_said.empty(),
      "--ips starts a collective job, but {} one with parameter servers: use only one of the two",
      fmt::join(options.server_options_said, ", "));
  check_hosts(options);
}

}  // namespace

HostCount JobOptions::hosts() const {
  if (!nnodes) return {};
  const std::string& text = *nnodes;
  const size_t colon = std::min(text.find(':'), text.size());
  const std::optional<int64_t> least = whole_number(text.substr(0, colon));
  const std::optional<int64_t> most =
      colon == text.size() ? least : whole_number(text.substr(colon + 1));
  require(least && most && 1 <= *least && *least <= *most,
          "--nnodes must be a number of hosts or a range such as 2:4, but is \"{}\"", text);
  return {*least, *most};
}

JobOptions parse_options(std::span<const std::string> arguments, Front front) {
  JobOptions options{.front = front};
  if (front == Front::kLaunchPs) {
    options.worker_num = options.server_num = 2;
    options.log_dir = "logs";
  }
  if (front == Front::kSpawn) {
    options.log_dir = "";
    options.quiet = true;
  }
  std::vector<const Flag*> said;
  size_t i = 0;
  for (; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "-h" || argument == "--help") throw HelpAsked{help_text()};
    if (argument == "-m" || !argument.starts_with("-")) break;
    require(argument.starts_with("--"), "the launcher has no option \"{}\". See --help", argument);
    const size_t equals = argument.find('=');
    const std::string who = argument.substr(0, equals);
    const Flag* flag = find_flag(who, who.substr(2), front);
    std::string value;
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (takes_a_word(flag, who.substr(2))) {
      require(i + 1 < arguments.size(), "{} needs a value, but none follows", who);
      value = arguments[++i];
    }
    if (flag == nullptr) continue;
    store(options, *flag, who, value);
    said.push_back(flag);
  }
  if (i < arguments.size() && arguments[i] == "-m") {
    options.module = true;
    ++i;
    require(i < arguments.size(), "-m needs the name of a module, but none follows");
  }
  if (i < arguments.size()) options.script = arguments[i++];
  options.script_args.assign(arguments.begin() + static_cast<int64_t>(i), arguments.end());
  options.notices = notices_on(options);
  // What the environment of a spawned job's parent says is said to another job.
  if (front != Front::kSpawn) take_environment(options, said);
  note_mode(options, said);
  if (front != Front::kSpawn) {
    take_cloud(options);
    take_scheduler(options);
  }
  check(options);
  return options;
}

}  // namespace flotilla::launch
