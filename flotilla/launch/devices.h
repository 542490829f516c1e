// flotilla/launch/devices.h
//
// Which GPUs the processes of this host get.
//
//   --gpus 4,5 with CUDA_VISIBLE_DEVICES=4,5,6,7
//   collective     every process sees what the launcher sees, and is told the places of its GPUs
//                  therein: FLAGS_selected_gpus=0 and FLAGS_selected_gpus=1
//   with servers   a worker sees only its own, by the number that was asked for:
//                  CUDA_VISIBLE_DEVICES=4, FLAGS_selected_gpus=0

#pragma once

#include <string>
#include <vector>

#include "flotilla/launch/machine.h"
#include "flotilla/launch/options.h"

namespace flotilla::launch {

struct Devices {
  std::vector<std::string> ids = {};     // as CUDA_VISIBLE_DEVICES names them
  std::vector<std::string> places = {};  // of each among those that the launcher sees
  bool there = false;                    // otherwise the processes run on the CPU
  std::string notice = {};               // why they do although GPUs were asked for
};

// Those of --gpus; without it all that are visible. Refuses GPUs that CUDA_VISIBLE_DEVICES hides
// while it shows others, and, where FLAGS_require_gpu says so, those that are not there.
Devices choose_devices(const JobOptions& options, const Machine& machine);

}  // namespace flotilla::launch
