#include "flotilla/launch/devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"

namespace flotilla::launch {
namespace {

std::vector<std::string> asked_for(const JobOptions& options) {
  if (options.gpus.value_or("").empty()) return {};
  std::vector<std::string> ids = split_list(*options.gpus);
  for (const std::string& id : ids) {
    require(
        !id.empty() && id.find_first_not_of("0123456789") == std::string::npos && id.size() < 10,
        "--gpus must be a comma-separated list of GPU numbers, but is \"{}\"", *options.gpus);
    require(std::count(ids.begin(), ids.end(), id) == 1, "--gpus names GPU {} twice", id);
  }
  return ids;
}

// What a process of ours sees where nothing changes its CUDA_VISIBLE_DEVICES.
std::vector<std::string> visible_in(const Machine& machine) {
  if (machine.visible_gpus) return *machine.visible_gpus;
  std::vector<std::string> all;
  for (int64_t id = 0; id < machine.gpus; ++id) all.push_back(fmt::to_string(id));
  return all;
}

}  // namespace

Devices choose_devices(const JobOptions& options, const Machine& machine) {
  const std::vector<std::string> visible = visible_in(machine);
  Devices chosen{.ids = asked_for(options)};
  if (chosen.ids.empty() && machine.gpus > 0) {
    chosen.ids = visible;
    // Processes of a function take the first ones; where there are too few they run without.
    if (options.front == Front::kSpawn && options.nproc_per_node) {
      const bool enough = std::ssize(visible) >= *options.nproc_per_node;
      chosen.ids.resize(enough ? static_cast<size_t>(*options.nproc_per_node) : 0);
    }
  }
  bool seen = true;
  for (const std::string& id : chosen.ids) {
    const auto found = std::find(visible.begin(), visible.end(), id);
    seen = seen && found != visible.end();
    chosen.places.push_back(found == visible.end() ? id : fmt::to_string(found - visible.begin()));
  }
  chosen.there = machine.gpus > 0 && seen && !chosen.ids.empty();
  if (chosen.there || chosen.ids.empty()) return chosen;
  const std::string asked = fmt::format("--gpus asks for {}", fmt::join(chosen.ids, ","));
  const bool hidden = machine.gpus > 0 && machine.visible_gpus;
  const std::string found =
      hidden ? fmt::format("CUDA_VISIBLE_DEVICES is \"{}\"", fmt::join(visible, ","))
             : fmt::format("this host has {} GPUs", machine.gpus);
  chosen.notice = fmt::format("{}, but {}", asked, found);
  require(!hidden || visible.empty(), "{}", chosen.notice);
  require(!env::flag_or("FLAGS_require_gpu", false),
          "{}; without FLAGS_require_gpu=1 the processes run on the CPU", chosen.notice);
  chosen.notice += ": the processes run on the CPU";
  return chosen;
}

}  // namespace flotilla::launch
