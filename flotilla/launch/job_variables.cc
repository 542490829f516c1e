// The environment of the processes, once everybody's place is known.

#include <fmt/format.h>

#include "flotilla/launch/job.h"

namespace flotilla::launch {
namespace {

std::string joined(const std::vector<Endpoint>& endpoints) {
  std::vector<std::string> texts;
  for (const Endpoint& endpoint : endpoints) texts.push_back(endpoint.text());
  return fmt::format("{}", fmt::join(texts, ","));
}

void describe_collective(const Job& job, Process& process) {
  const std::vector<Endpoint>& all = job.endpoints.workers;
  const std::vector<std::string>& places = job.devices.places;
  const int64_t local = std::ssize(job.processes);
  const int64_t each = std::ssize(places) / local;
  const auto of = [&](int64_t rank, const char* between) {
    const auto first = places.begin() + rank % local * each;
    return fmt::format("{}", fmt::join(first, first + each, between));
  };
  const std::string ids = of(process.local, ",");
  std::vector<std::string> world;  // every host gives its processes as many
  for (int64_t rank = 0; rank < std::ssize(all); ++rank) world.push_back(of(rank, ":"));
  process.shown = {{"PADDLE_TRAINER_ID", fmt::to_string(process.rank)},
                   {"PADDLE_CURRENT_ENDPOINT", process.listener.endpoint()},
                   {"PADDLE_TRAINERS_NUM", fmt::to_string(all.size())},
                   {"PADDLE_TRAINER_ENDPOINTS", joined(all)}};
  if (each > 0) {
    process.shown.emplace_back("FLAGS_selected_gpus", ids);
    process.hidden.emplace_back("PADDLE_WORLD_DEVICE_IDS",
                                fmt::format("{}", fmt::join(world, ",")));
  }
  process.hidden.insert(process.hidden.end(),
                        {{"PADDLE_RANK_IN_NODE", fmt::to_string(process.local)},
                         {"PADDLE_LOCAL_DEVICE_IDS", ids},
                         {"PADDLE_GLOBAL_RANK", fmt::to_string(process.rank)},
                         {"PADDLE_GLOBAL_SIZE", fmt::to_string(all.size())},
                         {"PADDLE_LOCAL_RANK", fmt::to_string(process.local)},
                         {"PADDLE_LOCAL_SIZE", fmt::to_string(local)},
                         {"PADDLE_NNODES", fmt::to_string(job.hosts.size())}});
}

void describe_with_servers(const Job& job, Process& process) {
  const auto& [servers, workers, heters] = job.endpoints;
  const bool server = process.role == "server";
  const char* role = server ? "PSERVER" : process.role == "worker" ? "TRAINER" : "HETER_TRAINER";
  process.shown = {{"PADDLE_PSERVERS_IP_PORT_LIST", joined(servers)},
                   {"PADDLE_TRAINER_ENDPOINTS", joined(workers)},
                   {"PADDLE_HETER_TRAINER_IP_PORT_LIST", joined(heters)},
                   {"PADDLE_TRAINERS_NUM", fmt::to_string(workers.size())},
                   {"TRAINING_ROLE", role}};
  Variables& place = server ? process.shown : process.hidden;
  place.emplace_back("POD_IP", process.listener.host);
  place.emplace_back("PADDLE_PORT", fmt::to_string(process.listener.port));
  if (server) return;
  const size_t local = static_cast<size_t>(process.local);
  const std::vector<std::string>& ids = job.devices.ids;
  const std::string gpu = ids.empty() ? "0" : ids[local % ids.size()];
  process.shown.insert(process.shown.end(), {{"PADDLE_TRAINER_ID", fmt::to_string(process.rank)},
                                             {"FLAGS_selected_gpus", "0"},
                                             {"FLAGS_selected_xpus", "0"},
                                             {"CUDA_VISIBLE_DEVICES", gpu},
                                             {"XPU_VISIBLE_DEVICES", gpu}});
}

}  // namespace

void describe_processes(Job& job) {
  for (Process& process : job.processes) {
    if (job.mode == Mode::kCollective) {
      describe_collective(job, process);
    } else {
      describe_with_servers(job, process);
    }
  }
}

}  // namespace flotilla::launch
