#include "flotilla/fleet/role.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "flotilla/base/env.h"
#include "flotilla/base/error.h"

namespace flotilla::fleet {
namespace {

constexpr int64_t kMostProcesses = 4096;

std::string_view host_of(std::string_view endpoint) {
  return endpoint.substr(0, endpoint.rfind(':'));
}

bool is_endpoint(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  int port = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
  return error == std::errc() && stop == end && 0 < port && port < 65536;
}

void check_endpoints(const std::vector<std::string>& endpoints, const std::string& source) {
  std::set<std::string> seen;
  for (const std::string& endpoint : endpoints) {
    require(is_endpoint(endpoint), "{} must be host:port entries, but holds \"{}\"", source,
            endpoint);
    require(seen.insert(endpoint).second, "{} names {} twice", source, endpoint);
  }
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

Role collective_role() {
  Role role = {.collective = true};
  for (const char* name : {"TRAINING_ROLE", "PADDLE_TRAINING_ROLE"}) {
    const std::string word = env::text_or(name, "TRAINER");
    require(word == "TRAINER", "a collective job has only trainers, but {} is \"{}\"", name, word);
  }
  role.worker_endpoints = env::list("PADDLE_TRAINER_ENDPOINTS");
  const std::optional<std::string> count = env::text("PADDLE_TRAINERS_NUM");
  const int64_t trainers = env::number_or("PADDLE_TRAINERS_NUM", 1, 1, kMostProcesses);
  if (role.worker_endpoints.empty()) {
    require(trainers == 1,
            "PADDLE_TRAINERS_NUM is {}, but PADDLE_TRAINER_ENDPOINTS does not say where they are",
            trainers);
    role.worker_endpoints = {"127.0.0.1:6170"};
  }
  role.workers = std::ssize(role.worker_endpoints);
  require(!count || trainers == role.workers,
          "PADDLE_TRAINERS_NUM is {}, but PADDLE_TRAINER_ENDPOINTS names {}", trainers,
          role.workers);
  role.index = env::number_or("PADDLE_TRAINER_ID", 0, 0, kMostProcesses);
  require(role.index < role.workers, "PADDLE_TRAINER_ID is {}, but there are only {} trainers",
          role.index, role.workers);
  role.endpoint = role.worker_endpoints[static_cast<size_t>(role.index)];
  const std::string given = env::text_or("PADDLE_CURRENT_ENDPOINT", role.endpoint);
  require(given == role.endpoint,
          "PADDLE_CURRENT_ENDPOINT is {}, but PADDLE_TRAINER_ID {} stands at {} in "
          "PADDLE_TRAINER_ENDPOINTS",
          given, role.index, role.endpoint);
  check_endpoints(role.worker_endpoints, "PADDLE_TRAINER_ENDPOINTS");
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

Role server_role() {
  constexpr const char* kBecause = "PADDLE_PSERVERS_IP_PORT_LIST names servers";
  Role role = {.server_endpoints = env::list("PADDLE_PSERVERS_IP_PORT_LIST")};
  check_endpoints(role.server_endpoints, "PADDLE_PSERVERS_IP_PORT_LIST");
  role.workers = needed_number("PADDLE_TRAINERS_NUM", kBecause, 1);
  role.worker_endpoints = env::list("PADDLE_TRAINER_ENDPOINTS");
  check_endpoints(role.worker_endpoints, "PADDLE_TRAINER_ENDPOINTS");
  require(role.worker_endpoints.empty() || std::ssize(role.worker_endpoints) == role.workers,
          "PADDLE_TRAINERS_NUM is {}, but PADDLE_TRAINER_ENDPOINTS names {}", role.workers,
          role.worker_endpoints.size());
  role.kind = kind_of("TRAINING_ROLE", needed("TRAINING_ROLE", kBecause));
  require(role.is_worker() || role.is_server(),
          "TRAINING_ROLE {} is not there yet: only TRAINER and PSERVER are",
          env::text_or("TRAINING_ROLE", ""));
  if (role.is_server()) {
    role.endpoint = needed("POD_IP", "this process is a server") + ":" +
                    needed("PADDLE_PORT", "this process is a server");
    find_server(role, "PADDLE_PSERVERS_IP_PORT_LIST");
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
  for (const std::string& host : env::list("PADDLE_PSERVER_IPS")) {
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
bool names_servers_of_2018() {
  return env::text("PADDLE_PSERVER_IPS") && env::text("PADDLE_TRAINING_ROLE");
}

}  // namespace

int64_t Role::nodes() const {
  std::set<std::string_view> hosts;
  for (const std::string& endpoint : worker_endpoints) hosts.insert(host_of(endpoint));
  return std::max<int64_t>(std::ssize(hosts), 1);
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
  if (names_servers()) return server_role();
  if (names_servers_of_2018()) return server_role_of_2018();
  return {};
}

Role data_role_from_environment() {
  if (names_servers() || names_servers_of_2018()) return role_from_environment(false);
  if (env::text("PADDLE_TRAINER_ENDPOINTS")) return collective_role();
  Role role = {.collective = true};
  role.workers = env::number_or("PADDLE_TRAINERS_NUM", 1, 1, kMostProcesses);
  role.index = env::number_or("PADDLE_TRAINER_ID", 0, 0, kMostProcesses);
  require(role.index < role.workers, "PADDLE_TRAINER_ID is {}, but PADDLE_TRAINERS_NUM is {}",
          role.index, role.workers);
  read_devices(role);
  return role;
}

}  // namespace flotilla::fleet
