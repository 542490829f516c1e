#include "flotilla/fleet/role.h"

#include <algorithm>
#include <set>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/fleet/role_schedulers.h"

namespace flotilla::fleet {
namespace {

constexpr int64_t kMostProcesses = 4096;

void check_endpoints(const std::vector<std::string>& endpoints, const std::string& source) {
  std::set<std::string> seen;
  for (const std::string& endpoint : endpoints) {
    const std::optional<Endpoint> found = find_endpoint(endpoint);
    require(found.has_value(), "{} must be host:port entries, but holds \"{}\"", source, endpoint);
    require(seen.insert(found->text()).second, "{} names {} twice", source, found->text());
  }
}

// The entries of a variable that names hosts or endpoints. What a script has put together may end
// with a comma; any other empty entry is somebody who is missing.
std::vector<std::string> places_in(const char* name) {
  const std::string text = env::text_or(name, "");
  std::vector<std::string> entries = split_list(text);
  if (entries.size() > 1 && entries.back().empty()) entries.pop_back();
  require(std::find(entries.begin(), entries.end(), "") == entries.end(),
          "{} must be a list with commas between its entries, but \"{}\" has an empty one", name,
          text);
  return entries;
}

// The value of a variable that the mode needs.
std::string needed(const char* name, const char* because) {
  const std::optional<std::string> value = env::text(name);
  require(value.has_value(), "{} must be set because {}", name, because);
  return *value;
}

int64_t needed_number(const char* name, const char* because, int64_t least) {
  needed(name, because);
  return env::number_or(name, 0, least, kMostProcesses);
}

RoleKind kind_of(const char* variable, const std::string& word) {
  if (word == "TRAINER") return RoleKind::kWorker;
  if (word == "PSERVER") return RoleKind::kServer;
  if (word == "HETER_TRAINER") return RoleKind::kHeterWorker;
  if (word == "COORDINATOR") return RoleKind::kCoordinator;
  refuse("{} must be TRAINER, PSERVER, HETER_TRAINER or COORDINATOR, but is \"{}\"", variable,
         word);
}

void read_devices(Role& role) {
  role.local_rank =
      env::number_or("PADDLE_RANK_IN_NODE",
                     env::number_or("PADDLE_LOCAL_RANK", 0, 0, kMostProcesses), 0, kMostProcesses);
  role.local_devices = env::list("PADDLE_LOCAL_DEVICE_IDS");
  if (role.local_devices.empty()) role.local_devices = env::list("FLAGS_selected_gpus");
  role.world_devices = env::list("PADDLE_WORLD_DEVICE_IDS");
}

// PaddleCloud and the PaddleJob operator: one trainer on each of the hosts in PADDLE_TRAINERS, all
// on one port.
bool in_a_cloud() {
  return env::text("PADDLE_TRAINERS") && env::text("TRAINER_PORTS_NUM") && env::text("POD_IP") &&
         env::text("PADDLE_TRAINER_ID");
}

std::vector<std::string> cloud_endpoints() {
  const int64_t port = env::number_or("PADDLE_PORT", 6170, 1, 65535);
  const std::vector<std::string> hosts = places_in("PADDLE_TRAINERS");
  const int64_t self = env::number_or("PADDLE_TRAINER_ID", 0, 0, kMostProcesses);
  const std::string pod = env::text_or("POD_IP", "");
  require(self >= std::ssize(hosts) || hosts[static_cast<size_t>(self)] == pod,
          "POD_IP is {}, but entry {} of PADDLE_TRAINERS (PADDLE_TRAINER_ID) is \"{}\"", pod, self,
          self < std::ssize(hosts) ? hosts[static_cast<size_t>(self)] : "");
  std::vector<std::string> endpoints;
  for (const std::string& host : hosts) endpoints.push_back(Endpoint{host, port}.text());
  return endpoints;
}

// Where the trainers are, and which variable says so.
struct Places {
  const char* source = "PADDLE_TRAINER_ENDPOINTS";
  std::vector<std::string> endpoints = {};
};

Places trainer_places() {
  for (const char* name : {"PADDLE_TRAINER_ENDPOINTS", "DISTRIBUTED_TRAINER_ENDPOINTS"}) {
    if (env::text(name)) return {name, places_in(name)};
  }
  if (in_a_cloud()) return {"PADDLE_TRAINERS", cloud_endpoints()};
  return {};
}

void check_only_trainers() {
  for (const char* name : {"TRAINING_ROLE", "PADDLE_TRAINING_ROLE"}) {
    const std::string word = env::text_or(name, "TRAINER");
    require(word == "TRAINER", "a collective job has only trainers, but {} is \"{}\"", name, word);
  }
}

// Paddle's variables, those that say where trainers are and those that only count them.
bool names_trainers() {
  return env::text("PADDLE_TRAINER_ID") || env::text("PADDLE_TRAINERS_NUM") ||
         !trainer_places().endpoints.empty();
}

void read_index(Role& role, const std::string& source) {
  role.index = env::number_or("PADDLE_TRAINER_ID", 0, 0, kMostProcesses);
  require(role.index < role.workers, "PADDLE_TRAINER_ID is {}, but {} {}", role.index, source,
          role.workers);
}

// Rank and size are known, but not where the others are.
Role counted_role() {
  Role role = {.collective = true};
  role.workers = env::number_or("PADDLE_TRAINERS_NUM", 1, 1, kMostProcesses);
  read_index(role, "PADDLE_TRAINERS_NUM is");
  read_devices(role);
  return role;
}

Role collective_role() {
  check_only_trainers();
  if (!names_trainers()) {
    if (std::optional<Role> role = role_from_scheduler()) return *role;
  }
  const Places places = trainer_places();
  const std::optional<std::string> count = env::text("PADDLE_TRAINERS_NUM");
  const int64_t trainers = env::number_or("PADDLE_TRAINERS_NUM", 1, 1, kMostProcesses);
  if (places.endpoints.empty() && env::text("PADDLE_MASTER")) return counted_role();
  require(!places.endpoints.empty() || trainers == 1,
          "PADDLE_TRAINERS_NUM is {}, but PADDLE_TRAINER_ENDPOINTS does not say where they are",
          trainers);
  Role role = {.collective = true, .worker_endpoints = places.endpoints};
  if (role.worker_endpoints.empty()) role.worker_endpoints = {"127.0.0.1:6170"};
  role.workers = std::ssize(role.worker_endpoints);
  require(!count || trainers == role.workers, "PADDLE_TRAINERS_NUM is {}, but {} names {}",
          trainers, places.source, role.workers);
  read_index(role, "the number of trainers is");
  role.endpoint = role.worker_endpoints[static_cast<size_t>(role.index)];
  const std::string given = env::text_or("PADDLE_CURRENT_ENDPOINT", role.endpoint);
  require(given == role.endpoint,
          "PADDLE_CURRENT_ENDPOINT is {}, but entry {} of {} (PADDLE_TRAINER_ID) is {}", given,
          role.index, places.source, role.endpoint);
  check_endpoints(role.worker_endpoints, places.source);
  read_devices(role);
  return role;
}

// Finds this server in the list.
void find_server(Role& role, const std::string& list) {
  const auto found =
      std::find(role.server_endpoints.begin(), role.server_endpoints.end(), role.endpoint);
  require(found != role.server_endpoints.end(), "this server is {}, which is not in {}: {}",
          role.endpoint, list, fmt::join(role.server_endpoints, ","));
  role.index = found - role.server_endpoints.begin();
}

void read_trainer(Role& role, const char* count) {
  role.index = needed_number("PADDLE_TRAINER_ID", "this process is a trainer", 0);
  require(role.index < role.workers, "PADDLE_TRAINER_ID is {}, but {} is {}", role.index, count,
          role.workers);
  if (!role.worker_endpoints.empty()) {
    role.endpoint = role.worker_endpoints[static_cast<size_t>(role.index)];
  }
}

// The servers, by host and port; until 1.6 hosts, and one port for all.
std::vector<std::string> listed_servers(const std::string& list) {
  if (list == "PADDLE_PSERVERS_IP_PORT_LIST") return places_in("PADDLE_PSERVERS_IP_PORT_LIST");
  std::vector<std::string> endpoints;
  const int64_t port = env::number_or("PADDLE_PORT", 6174, 1, 65535);
  for (const std::string& host : places_in("PADDLE_PSERVERS")) {
    endpoints.push_back(fmt::format("{}:{}", host, port));
  }
  return endpoints;
}

// `list`: the variable that names the servers.
Role server_role(const std::string& list) {
  const std::string because = list + " names servers";
  Role role = {.server_endpoints = listed_servers(list)};
  check_endpoints(role.server_endpoints, list);
  role.workers = needed_number("PADDLE_TRAINERS_NUM", because.c_str(), 1);
  role.worker_endpoints = places_in("PADDLE_TRAINER_ENDPOINTS");
  check_endpoints(role.worker_endpoints, "PADDLE_TRAINER_ENDPOINTS");
  require(role.worker_endpoints.empty() || std::ssize(role.worker_endpoints) == role.workers,
          "PADDLE_TRAINERS_NUM is {}, but PADDLE_TRAINER_ENDPOINTS names {}", role.workers,
          role.worker_endpoints.size());
  role.kind = kind_of("TRAINING_ROLE", needed("TRAINING_ROLE", because.c_str()));
  require(role.is_worker() || role.is_server(),
          "TRAINING_ROLE must be TRAINER or PSERVER, but is {}", env::text_or("TRAINING_ROLE", ""));
  if (role.is_server()) {
    role.endpoint = needed("POD_IP", "this process is a server") + ":" +
                    needed("PADDLE_PORT", "this process is a server");
    find_server(role, list);
  } else {
    read_trainer(role, "PADDLE_TRAINERS_NUM");
  }
  read_devices(role);
  return role;
}

// The variables of 2018: one port for all servers, PADDLE_TRAINERS a number.
Role server_role_of_2018() {
  constexpr const char* kBecause = "PADDLE_PSERVER_IPS names servers";
  Role role;
  const int64_t port = env::number_or("PADDLE_PSERVER_PORT", 6174, 1, 65535);
  for (const std::string& host : places_in("PADDLE_PSERVER_IPS")) {
    role.server_endpoints.push_back(fmt::format("{}:{}", host, port));
  }
  check_endpoints(role.server_endpoints, "PADDLE_PSERVER_IPS");
  role.workers = needed_number("PADDLE_TRAINERS", kBecause, 1);
  role.kind = kind_of("PADDLE_TRAINING_ROLE", needed("PADDLE_TRAINING_ROLE", kBecause));
  if (role.is_server()) {
    role.endpoint =
        fmt::format("{}:{}", needed("PADDLE_CURRENT_IP", "this process is a server"), port);
    find_server(role, "PADDLE_PSERVER_IPS");
  } else {
    read_trainer(role, "PADDLE_TRAINERS");
  }
  return role;
}

bool names_servers() { return env::text("PADDLE_PSERVERS_IP_PORT_LIST").has_value(); }
bool names_hosts_of_servers() { return env::text("PADDLE_PSERVERS") && env::text("TRAINING_ROLE"); }
bool names_servers_of_2018() {
  return env::text("PADDLE_PSERVER_IPS") && env::text("PADDLE_TRAINING_ROLE");
}

}  // namespace

int64_t Role::nodes() const {
  std::set<std::string> machines(hosts.begin(), hosts.end());
  for (const std::string& endpoint : worker_endpoints) machines.insert(host_of(endpoint));
  return std::max<int64_t>(std::ssize(machines), 1);
}

std::string Role::text() const {
  const auto quoted = [](const std::vector<std::string>& endpoints) {
    std::vector<std::string> each;
    for (const std::string& endpoint : endpoints) each.push_back("'" + endpoint + "'");
    return fmt::format("[{}]", fmt::join(each, ", "));
  };
  return fmt::format("role: {}, current_id: {}, worker_endpoints: {}, server_endpoints: {}",
                     static_cast<int>(kind), index, quoted(worker_endpoints),
                     quoted(server_endpoints));
}

void check(const Role& role, const std::string& source) {
  require(role.workers > 0, "{}: there must be at least one worker, but there are {}", source,
          role.workers);
  require(role.worker_endpoints.empty() || std::ssize(role.worker_endpoints) == role.workers,
          "{}: there are {} workers, but {} endpoints of workers", source, role.workers,
          role.worker_endpoints.size());
  check_endpoints(role.worker_endpoints, source + ": worker_endpoints");
  check_endpoints(role.server_endpoints, source + ": server_endpoints");
  const int64_t most = role.is_server() ? role.servers() : role.workers;
  require(0 <= role.index && role.index < most, "{}: current_id must lie in [0, {}), but is {}",
          source, most, role.index);
}

Role role_from_environment(bool collective) {
  if (collective) return collective_role();
  if (names_servers()) return server_role("PADDLE_PSERVERS_IP_PORT_LIST");
  if (names_hosts_of_servers()) return server_role("PADDLE_PSERVERS");
  if (names_servers_of_2018()) return server_role_of_2018();
  if (const std::optional<Role> role = role_from_scheduler(); role && !names_trainers()) {
    require(
        role->workers == 1,
        "{} started {} processes of a job with parameter servers, but PADDLE_PSERVERS_IP_PORT_LIST "
        "and TRAINING_ROLE do not say which of them are servers",
        role->started_by, role->workers);
  }
  // It would pass for a worker that is alone.
  for (const auto& [role, servers] : {std::pair("TRAINING_ROLE", "PADDLE_PSERVERS_IP_PORT_LIST"),
                                      std::pair("PADDLE_TRAINING_ROLE", "PADDLE_PSERVER_IPS")}) {
    require(env::text_or(role, "") != "PSERVER", "{} is PSERVER, but {} names no servers", role,
            servers);
  }
  return {};
}

Role data_role_from_environment() {
  if (names_servers() || names_servers_of_2018()) return role_from_environment(false);
  if (!trainer_places().endpoints.empty()) return collective_role();
  if (!names_trainers()) {
    if (std::optional<Role> role = role_from_scheduler()) return *role;
  }
  return counted_role();
}

}  // namespace flotilla::fleet
