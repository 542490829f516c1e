// flotilla/launch/server_folder.h
//
// Where the servers of a job keep their logs and snapshots: a folder that outlives each of them.

#pragma once

#include <filesystem>

#include "flotilla/launch/job.h"

namespace flotilla::launch {

class ServerFolder {
 public:
  // That of --ps_dir, which stays; otherwise a new one, which goes with this object. None where the
  // host has no servers. Refuses a folder that cannot be made.
  ServerFolder(const Job& job, const JobOptions& options);
  ~ServerFolder();
  ServerFolder(const ServerFolder&) = delete;
  ServerFolder& operator=(const ServerFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool temporary() const { return temporary_; }

 private:
  std::filesystem::path path_;  // absolute; empty: none
  bool temporary_ = false;
};

}  // namespace flotilla::launch
