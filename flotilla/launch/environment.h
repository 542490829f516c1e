// flotilla/launch/environment.h
//
// What a process of a job finds in its environment: the launcher's own, less what would mislead it,
// and the variables of the documents and of Flotilla.

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "flotilla/launch/job.h"

namespace flotilla::launch {

// What all processes of a host are told alike.
struct Surroundings {
  std::string store = {};  // its address
  std::string token = {};
  bool token_is_made = false;                // by the launcher: nobody has given a secret
  std::vector<std::string> only_from = {};   // the hosts that are answered; empty: all
  std::filesystem::path server_folder = {};  // where servers keep their logs and snapshots
  bool folder_is_temporary = false;          // it goes with the job
};

// Where there is no secret, the hosts from which connections are taken. A host that has its own
// name from a file may call itself over loopback.
std::vector<std::string> only_from(const Job& job);

// What the documents' tables show of a process.
Variables shown_of(const Job& job, const Process& process, const Surroundings& around);

// All of it, as NAME=value.
std::vector<std::string> environment_of(const Job& job, const Process& process, int64_t attempt,
                                        const Surroundings& around);

}  // namespace flotilla::launch
