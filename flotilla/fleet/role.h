// flotilla/fleet/role.h
//
// Who this process is in a job: a plain value, read from the environment that launchers of every
// era leave, or made from what a program says.
//
//   collective           PADDLE_TRAINER_ID, PADDLE_TRAINER_ENDPOINTS, PADDLE_TRAINERS_NUM,
//                        PADDLE_CURRENT_ENDPOINT
//   parameter servers    PADDLE_PSERVERS_IP_PORT_LIST, TRAINING_ROLE, PADDLE_TRAINERS_NUM,
//                        PADDLE_TRAINER_ID of a trainer, POD_IP and PADDLE_PORT of a server
//   the same until 1.6   PADDLE_PSERVERS (hosts) and PADDLE_PORT instead of the list
//   the same in 2018     PADDLE_PSERVER_IPS, PADDLE_PSERVER_PORT, PADDLE_TRAINING_ROLE,
//                        PADDLE_TRAINERS, PADDLE_TRAINER_ID, PADDLE_CURRENT_IP
//   Kubernetes (the PaddleJob operator), PaddleCloud
//                        one of the above, or PADDLE_TRAINERS (hosts), TRAINER_PORTS_NUM,
//                        PADDLE_PORT, PADDLE_TRAINER_ID and POD_IP
//   Slurm, Open MPI      their own (role_schedulers.h), where none of Paddle's is set
//
// Without any of these a process is alone. Variables that contradict each other are refused.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flotilla::fleet {

// The numbers are Paddle's.
enum class RoleKind { kWorker = 1, kServer = 2, kHeterWorker = 3, kCoordinator = 5 };

struct Role {
  RoleKind kind = RoleKind::kWorker;

  // Gradients are exchanged between workers; otherwise parameters live on servers.
  bool collective = false;

  // Among the processes of its kind.
  int64_t index = 0;

  // How many workers there are, and where. The endpoints of workers may be unknown: a job with
  // servers does not need them.
  int64_t workers = 1;
  std::vector<std::string> worker_endpoints = {};
  std::vector<std::string> server_endpoints = {};

  // Of this process; empty where nothing says.
  std::string endpoint = {};

  // A scheduler knows machines, but no endpoints: the machine of worker 0 is the first. Empty where
  // endpoints say it, or nobody.
  std::vector<std::string> hosts = {};
  std::string started_by = {};  // "Slurm", "Open MPI"; empty: Paddle's variables, or nobody

  // Among the processes of this machine, and the devices of this process and of all.
  int64_t local_rank = 0;
  std::vector<std::string> local_devices = {};
  std::vector<std::string> world_devices = {};

  bool is_worker() const { return kind == RoleKind::kWorker; }
  bool is_server() const { return kind == RoleKind::kServer; }
  bool is_first_worker() const { return is_worker() && index == 0; }
  int64_t servers() const { return static_cast<int64_t>(server_endpoints.size()); }
  // Machines with workers; one where nothing is known of them.
  int64_t nodes() const;
  // There is another process to talk to.
  bool distributed() const { return workers > 1 || servers() > 0; }

  // As Paddle's role makers print themselves.
  std::string text() const;
};

// Refuses a role that contradicts itself: an index out of range, a malformed endpoint, two
// processes at one endpoint. `source` is what the sentences blame, e.g. "UserDefinedRoleMaker".
void check(const Role& role, const std::string& source);

// The role that the environment gives to a process whose program says whether it is collective.
Role role_from_environment(bool collective);

// Which processes divide the data: rank and size of the workers, whatever the mode. They need not
// say where they are, so PADDLE_TRAINER_ID and PADDLE_TRAINERS_NUM are enough.
Role data_role_from_environment();

}  // namespace flotilla::fleet
