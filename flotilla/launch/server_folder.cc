#include "flotilla/launch/server_folder.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "flotilla/base/error.h"

namespace flotilla::launch {

namespace fs = std::filesystem;

ServerFolder::ServerFolder(const Job& job, const JobOptions& options) {
  const bool servers = std::any_of(job.processes.begin(), job.processes.end(),
                                   [](const Process& p) { return p.role == "server"; });
  if (!servers) return;
  if (options.ps_dir && !options.ps_dir->empty()) {
    path_ = fs::absolute(*options.ps_dir);
    std::error_code error;
    fs::create_directories(path_, error);
    require(!error, "cannot create --ps_dir {}: {}", path_.string(), error.message());
    return;
  }
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  require(!error, "there is no folder for temporary files ({}): set TMPDIR or give --ps_dir",
          error.message());
  std::string name = parent / "flotilla-servers-XXXXXX";
  const bool made = mkdtemp(name.data()) != nullptr;
  require(made, "cannot create a folder for the servers' tables in {}: {}", parent.string(),
          std::strerror(errno));
  path_ = name;
  temporary_ = true;
}

ServerFolder::~ServerFolder() {
  if (!temporary_) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace flotilla::launch
